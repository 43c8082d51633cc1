"""Prometheus through prometheus-api-client: instant queries with a time limit, without NaN."""

from __future__ import annotations

import math

from prometheus_api_client import PrometheusApiClientException, PrometheusConnect
from requests.exceptions import RequestException
from urllib3.util.retry import Retry

from trimtab.errors import UnavailableError
from trimtab.ports import Sample


class Prometheus:
    """One Prometheus server."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._url = url
        # no retries: the next tick asks again, and a tick must not hang
        self._connection = PrometheusConnect(url, retry=Retry(0), timeout=timeout_s)

    def query(self, promql: str) -> list[Sample]:
        """All series of an instant query.

        Raises:
            UnavailableError: no answer in time, or an error instead of data.
        """
        try:
            rows = self._connection.custom_query(promql)
        except (PrometheusApiClientException, RequestException, ValueError) as error:
            raise UnavailableError(
                f"Prometheus at {self._url} did not answer: {str(error)[:300]}"
            ) from error
        samples = (Sample(row["metric"], float(row["value"][1])) for row in rows)
        return [sample for sample in samples if math.isfinite(sample.value)]
