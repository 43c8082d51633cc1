# The local cluster. It needs root on Linux, and nothing installed beforehand.
#   make doctor         what this machine lacks (INSTALL=1 installs what apt and PyPI have)
#   make tools          the programs, from source; 10-20 min the first time
#   make cluster-up     a fresh cluster (NODES=3 for three nodes in three zones)
#   make images         the images that changed (ONLY=name), loaded into the running cluster
#   make cluster-status, make cluster-down

LOCALCLUSTER ?= python3 -m dev.localcluster
NODES ?= 1

.PHONY: doctor tools cluster-up cluster-down cluster-status images

doctor:
	$(LOCALCLUSTER) doctor $(if $(INSTALL),--install)

tools:
	$(LOCALCLUSTER) tools

cluster-up:
	$(LOCALCLUSTER) up --nodes $(NODES)

cluster-down:
	$(LOCALCLUSTER) down

cluster-status:
	$(LOCALCLUSTER) status

images:
	$(LOCALCLUSTER) images $(if $(ONLY),--only $(ONLY))
	@if $(LOCALCLUSTER) status > /dev/null 2>&1; then $(LOCALCLUSTER) load $(if $(ONLY),--only $(ONLY)); fi
