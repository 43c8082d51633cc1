"""Every gate and every test in one run: ``python3 -m dev.gates``.

Phases run in parallel unless they depend on each other or need more than the machine has. The first
failure ends the run. A machine that cannot run the local cluster is a failure only with
``REQUIRE_E2E=1``; otherwise the phases that need the cluster are skipped, with the reason.
"""
