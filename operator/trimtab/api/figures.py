"""The figures that trimtab exports: one table for exporter, queries and docs/metrics.md."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.figure import Figure, Reader, Type, counter, gauge

_TUNER, _NOW, _QUERY = Reader.TUNER, Reader.NOW, Reader.QUERY
_ROLE = "driver, executor"
_HOW = "live, query, driver"
_SIDE = "source, sink"
_QUANTILES = {"quantile": "0.5, 0.95, 0.99"}

DRIVER: tuple[Figure, ...] = (
    gauge("pipeline_info", "1 for the uid of the pipeline that the driver runs", _TUNER, uid=""),
    gauge("settings_generation", "Generation of the settings in force", _TUNER),
    gauge("settings_rejected_generation", "Generation that the driver last refused", _TUNER),
    gauge("run_number", "Starts of the query; stored beside the checkpoint", _TUNER),
    gauge("real_time", "1 if the query runs in Spark's real-time mode", _TUNER),
    gauge(
        "heartbeat_timestamp_seconds", "When the driver was last alive; tells idle from dead",
        _TUNER,
    ),
    gauge("effective", "1 for the value of a knob that is in force", knob="", value=""),
    gauge("effective_number", "The same value as a number, durations in seconds", _TUNER, knob=""),
    gauge("batch_id", "Last committed batch", _TUNER),
    gauge("batch_committed_timestamp_seconds", "When that batch was committed", _TUNER),
    gauge("batch_records", "Records of the last batch", _TUNER),
    gauge("batch_bytes", "Bytes of the keys and values of the last batch, as read", _TUNER),
    gauge(
        "batch_duration_seconds",
        "Duration of the last batch by phase; state_commit only in stateful queries, compute and"
        " sink only in timed batches",
        _TUNER, phase="planning, latest_offset, add_batch, wal, state_commit, compute, sink, total",
    ),
    gauge(
        "batch_settings_generation", "Settings in force during the whole of the last batch", _TUNER
    ),
    gauge("batch_executors_min", "Fewest executors while the last batch ran", _TUNER),
    gauge("batch_replayed", "1 if the last batch was a replay", _TUNER),
    gauge(
        "batch_timed",
        "1 if the last batch was a timed one: computed before it was written", _TUNER,
    ),
    gauge("batch_limit_binding", "1 if maxOffsetsPerTrigger limited the last batch"),
    Figure(
        "batch_record_latency_seconds", Type.SUMMARY,
        "Record timestamp to commit, in the last batch", _TUNER, _QUANTILES,
    ),
    Figure(
        "batch_wait_seconds", Type.SUMMARY,
        "How long the last batch's records were in Kafka before its commit, as the polls of the lag"
        " saw them come", _TUNER, _QUANTILES,
    ),
    gauge("batch_running_seconds", "Age of the running batch; 0 if there is none", _TUNER),
    gauge("batch_running_records", "Records of the running batch", _TUNER),
    gauge("batch_running_id", "Number of the running batch; omitted if there is none", _TUNER),
    gauge(
        "batch_running_replays",
        "How often the running batch has been replayed with the records that an earlier start"
        " planned; 0 if it is new", _TUNER,
    ),
    gauge(
        "batch_stalled_seconds",
        "Seconds in which the running batch has made no progress; 0 if there is none",
    ),
    gauge(
        "batch_running_timed",
        "1 if the running batch is a timed one; omitted if there is none", _TUNER,
    ),
    gauge(
        "batch_running_executors_min",
        "Fewest executors since the running batch began; omitted if there is none", _TUNER,
    ),
    gauge(
        "executors", "Executors by state", _TUNER,
        state="requested, running, pending, decommissioning",
    ),
    gauge(
        "reflex_executors",
        "Executors that the driver has asked for by itself; omitted unless they are more than its"
        " settings have", _TUNER,
    ),
    counter("reflex_raises", "Raises of executors by the driver itself"),
    counter("executors_refused", "Executor pods that the API server refused to create"),
    counter("executors_failed", "Executor pods that ended with an error, also while starting"),
    counter("executors_lost", "Executors that went without being released, for whatever reason"),
    gauge(
        "executor_load",
        "The larger of an executor's slots in use and its share of the waiting tasks, per slot; at"
        " most 1, over 5 s", _NOW, executor="",
    ),
    gauge(
        "scope_load",
        "Mean load of the executors that tasks may run on in a scope; in Process those that tasks"
        " prefer, so above 1 if they could not do all the work", _TUNER, scope="Process, Any",
    ),
    gauge(
        "executor_capacity",
        "Task time per slot time of an executor over a minute; above 1 when tasks end that took"
        " longer than a minute", _NOW, executor="",
    ),
    counter(
        "task_locality",
        "Tasks by Spark's locality level; a level that never occurred is omitted", _QUERY, level="",
    ),
    gauge(
        "sink_ratio", "Share of the time on records spent writing, in the last timed batch", _TUNER
    ),
    gauge(
        "sink_write_seconds", "Seconds that each of several sinks took for the last batch", _TUNER,
        sink="",
    ),
    gauge("source_lag_records", "Records that wait in each of several sources", _TUNER, source=""),
    gauge("slots_busy_ratio", "Mean share of task slots in use, over 5 s", _TUNER),
    gauge("gc_ratio", "Garbage collection time per task time; omitted while no task ends", _TUNER),
    gauge(
        "cpu_ratio",
        "CPU time per task time, in the stages that ended in the last minute, else in the last"
        " stage; omitted with Python workers", _TUNER,
    ),
    gauge(
        "heap_used_ratio",
        "Peak heap of an executor in those stages per heap limit, garbage included", _TUNER,
    ),
    counter(
        "jvm_seconds",
        "Running time of all JVMs of a role; the first 30 s of each are left out of this and of the"
        " collections", _QUERY, role=_ROLE,
    ),
    counter(
        "jvm_collections",
        "Garbage collections; divided by jvm_seconds_total, those of one JVM. With G1, `old` are"
        " full ones, and mixed ones count as `new`", _QUERY, role=_ROLE, generation="new, old",
    ),
    counter(
        "jvm_collection_seconds", "Time of those collections", _QUERY, role=_ROLE,
        generation="new, old",
    ),
    gauge("jvm_heap_limit_bytes", "Maximum size of one heap", _TUNER, role=_ROLE),
    gauge(
        "jvm_heap_peak_bytes", "Peak size of one heap since the JVM began, garbage included",
        _TUNER, role=_ROLE,
    ),
    gauge(
        "jvm_heap_live_bytes",
        "In use after the last old-generation collection; Spark does not report it for executors",
        _TUNER, role="driver",
    ),
    gauge(
        "jvm_new_generation_bytes", "Size of the new generation, if it was set", _TUNER,
        role=_ROLE,
    ),
    counter(
        "jvm_allocated_bytes",
        "Bytes allocated, estimated: new-generation collections × the size of the Eden space",
        _QUERY, role="driver",
    ),
    gauge(
        "jvm_collector",
        "1 for the collector in use; for executors only if it was set, because Spark does not"
        " report which one the JVM picked", _TUNER, role=_ROLE, collector="Serial, Parallel, G1",
    ),
    gauge(
        "pending_calls",
        "Most calls of a pending_map stage in flight at once, over all tasks of the last batch",
        _TUNER, stage="",
    ),
    gauge(
        "batch_pending_call_seconds",
        "Mean duration of the stage's calls in the last batch; omitted if it made none", _TUNER,
        stage="",
    ),
    Figure(
        "pending_call_seconds", Type.SUMMARY,
        "Count and duration of the stage's calls; an abandoned call counts its time-out",
        labels={"stage": ""},
    ),
    counter("pending_call_errors", "Calls that failed or were abandoned and gave null", stage=""),
    gauge(
        "locality_places",
        "Number of nodes or zones that lead the source's partitions; 0 if unknown. Only if a scope"
        " is set", scope="Node, Zone",
    ),
    gauge(
        "locality_wait_inert",
        "1 if minPartitions exceeds the number of partitions, so that the scope Process has no"
        " effect; only in that scope",
    ),
    gauge("lag_records", "Records not yet committed", _NOW, topic="", partition=""),
    gauge("lag_seconds", "Age of the oldest record not yet committed", _NOW, topic="",
           partition=""),
    counter(
        "partition_input", "Records ever written to the partition: its end offset", _NOW,
        topic="", partition="",
    ),
    gauge(
        "lag_polled_timestamp_seconds",
        "When these were polled: over the time between two polls the input is a rate", _TUNER,
    ),
    gauge(
        "start_backlog_records",
        "Records that were in the topics when the driver started, and are not committed yet",
        _TUNER,
    ),
    gauge(
        "partitions_beyond_end",
        "Partitions whose position is beyond their end: the topic is another one, or lost its end",
        _TUNER,
    ),
    gauge("partitions_out_of_sync", "Under-replicated partitions of the source", _TUNER),
    gauge("retention_deadline_seconds", "Until Kafka deletes the first unread record", _TUNER),
    gauge("retention_seconds", "How long Kafka keeps that topic's records", _TUNER),
    counter("records", "Records committed since this driver started"),
    counter("batches", "Batches committed since this driver started", _TUNER),
    counter("phase_seconds", "Time in batches by phase", phase=""),
    Figure("record_latency_seconds", Type.HISTOGRAM, "Record timestamp to commit"),
    counter("record_latency_clipped", "Records with a timestamp in the future, counted as 0 s"),
    counter("pause_seconds", "Time without commits because of changes", _TUNER, how=_HOW),
    counter("changes", "Changes applied", _TUNER, how=_HOW),
    counter("unclean_stops", "Stops in mid-batch"),
    counter(
        "failed_tasks",
        "Attempts of tasks that failed or were killed; Spark ran each task again, and wrote again"
        " what such an attempt had written",
    ),
    counter(
        "replayed_batches", "Batches that ran again after a start, as they were planned before"
    ),
    counter("ledger_records", "Records read, and handed on", side=_SIDE),
    gauge(
        "ledger_xor",
        "XOR of a hash of topic, partition and offset of those records, the lower 48 bits; at the"
        " sink only if the transform keeps these columns", side=_SIDE,
    ),
    gauge("ledger_sum", "Sum of the same hashes, the lower 48 bits", side=_SIDE),
    counter(
        "ledger_mismatch",
        "Difference of the two sides, added up by batch; 1 for a batch with the same number of"
        " records but different ones. Only if the query writes one record per record read", _TUNER,
    ),
    gauge(
        "arrived_records",
        "Records that the sink has got since the driver started, as Kafka's end offsets tell; those"
        " that were written again and those of other writers count too",
    ),
    gauge(
        "missing_records",
        "Records of committed batches that the sink does not have, by its own count; hidden by as"
        " many of other writers", _TUNER,
    ),
    counter(
        "skipped_records",
        "Offsets that batches went past without a record: the markers of transactions, what was"
        " compacted, or a loss", _TUNER,
    ),
    counter(
        "late_records", "Rows dropped by a stateful query because they came after the watermark",
        _TUNER,
    ),
    counter("dead_letters", "Records written to the topic of deadLetters instead of the sink"),
    gauge("state_rows", "Keys in the state of a stateful query, after the last batch", _TUNER),
    gauge("state_bytes", "Memory of the state's stores, and with RocksDB their files"),
    gauge(
        "state_commit_seconds", "Time that the last batch spent committing state; the same as"
        " the phase state_commit",
    ),
)  # fmt: skip
"""What a driver exports on its metrics port."""

OPERATOR: tuple[Figure, ...] = (
    Figure("operator_tick_duration_seconds", Type.HISTOGRAM, "Duration of a control tick"),
    gauge(
        "operator_tick_queries",
        "PromQL queries of the last tick; independent of the number of pipelines, and none in a"
        " quick tick, which only reads drivers directly",
    ),
    gauge(
        "operator_tick_writes", "Writes to the API server in the last tick; 0 if nothing changed"
    ),
    counter("operator_writes", "Writes to the API server"),
    gauge("operator_pipelines", "Pipelines in the last tick"),
    counter(
        "operator_decisions", "Decisions that were reported", pipeline_namespace="", pipeline="",
        action="", reason="",
    ),
    counter(
        "operator_driver_reads", "Drivers that were read directly", outcome="read, failed",
    ),
    counter(
        "operator_series_skipped", "Series in Prometheus's answers that were not read",
        reason="histogram, not_finite, malformed, unlabelled, no_driver, no_executor, other_pod",
    ),
    gauge("operator_last_tick_age_seconds", "Seconds since the last tick ended"),
)  # fmt: skip
"""What the operator exports about itself."""

BY_NAME: Mapping[str, Figure] = {figure.name: figure for figure in (*DRIVER, *OPERATOR)}
