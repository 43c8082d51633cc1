"""Every gate and every test in one run: ``python3 -m dev.gates``.

Phases run side by side where they need neither each other nor more of the machine than it has. One
that fails ends the run. A machine that cannot run the local cluster is a failure only with
``REQUIRE_E2E=1``; without it the phases that need the cluster are skipped, and it says why.
"""
