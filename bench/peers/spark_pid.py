"""Spark's PID rate estimator.

Source: apache/spark at 26c2bd0, streaming/src/main/scala/org/apache/spark/streaming/scheduler/
rate/PIDRateEstimator.scala; defaults of spark.streaming.backpressure.pid.*; Apache-2.0.
"""

from __future__ import annotations


class PidRateEstimator:
    """Records/s that a stream should read, from how fast its last batch was processed."""

    def __init__(
        self,
        interval_ms: int,
        proportional: float = 1.0,
        integral: float = 0.2,
        derivative: float = 0.0,
        min_rate: float = 100.0,
    ) -> None:
        if interval_ms <= 0 or min(proportional, integral, derivative) < 0 or min_rate <= 0:
            raise ValueError("interval and minimum rate must be positive, gains not negative")
        self.interval_ms, self.min_rate = interval_ms, min_rate
        self.proportional, self.integral, self.derivative = proportional, integral, derivative
        self.time_ms = -1
        self.rate: float | None = None
        self.error = 0.0

    def compute(
        self, time_ms: int, records: int, processing_ms: int, scheduling_ms: int
    ) -> float | None:
        """The new rate, records/s; None for the first batch and for one without information."""
        if time_ms <= self.time_ms or records <= 0 or processing_ms <= 0:
            return None
        since_s = (time_ms - self.time_ms) / 1000
        self.time_ms = time_ms
        processed = records / processing_ms * 1000
        if self.rate is None:
            self.rate = processed
            return None
        error = self.rate - processed
        history = scheduling_ms * processed / self.interval_ms
        slope = (error - self.error) / since_s
        self.rate = max(
            self.min_rate,
            self.rate
            - self.proportional * error
            - self.integral * history
            - self.derivative * slope,
        )
        self.error = error
        return self.rate
