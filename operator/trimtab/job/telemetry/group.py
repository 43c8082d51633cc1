"""Shows the query's position as that of a consumer group, to Kafka's own tools.

Nothing reads it back: the position itself is in the checkpoint.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from trimtab.errors import UnavailableError
from trimtab.job.query.offset_log import Offsets

log = logging.getLogger(__name__)

INTERVAL_S = 5.0


class GroupCommits:
    """Commits where the committed batches end, whenever that has changed."""

    def __init__(
        self, commit: Callable[[Offsets], None], committed: Callable[[], Offsets | None]
    ) -> None:
        """`commit` raises UnavailableError; `committed` is None while the position is unknown."""
        self._commit, self._committed = commit, committed
        self._shown: Offsets | None = None
        self._refused = ""

    def look(self) -> None:
        """Commit once if there is news; a refusal is logged once."""
        position = self._committed()
        if not position or position == self._shown:
            return
        try:
            self._commit(position)
        except UnavailableError as error:
            if str(error) != self._refused:
                log.warning("the offsets of the consumer group are not committed: %s", error)
            self._refused = str(error)
            return
        self._shown, self._refused = dict(position), ""

    def start(self, stopping: threading.Event) -> None:
        """Look every few seconds until `stopping` is set, and once more then."""

        def run() -> None:
            while not stopping.wait(INTERVAL_S):
                self.look()
            self.look()

        threading.Thread(target=run, name="trimtab-group", daemon=True).start()
