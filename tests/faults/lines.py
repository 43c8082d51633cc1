"""What clusters, tenants and Kafka do to a pipeline, one line each, and the tests that try it.

The second table of docs/reliability.md. A test that passes is one try (tests/conftest.py); what it
measures and reads goes into its row through the fixture `fault`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One fault: its words, the tests of it below tests/, and what a person reads."""

    title: str
    tests: tuple[str, ...]
    said: str = ""
    """Where no test fills in the words of its run: the condition, the refusal or the metric."""


def _of(module: str, *functions: str) -> tuple[str, ...]:
    return tuple(f"{module}.py::test_{function}" for function in functions)


E2E_EXECUTORS, PODS = "e2e/test_executors", "unit/reconcile/test_executor_pods"
CHECKPOINTS, GENERATIONS = "kafka/test_checkpoint", "unit/job/query/test_generations"
CLOSED, LOOP = "simulation/test_closed_loop", "apiserver/test_loop"
SOURCE, ADMISSION = "kafka/test_source", "apiserver/test_admission"
CHART, OPERATOR = "apiserver/test_chart", "apiserver/test_operator"
PROMETHEUS, KAFKA = "unit/adapters/test_prometheus", "apiserver/test_kafka"
ROLL, VOLUMES, TOPICS = (f"unit/reconcile/test_{name}" for name in ("roll", "volumes", "topics"))
PODS_OF_ALL, BROKERS = "unit/workloads/test_pods", "unit/workloads/test_kafka"
DRIFT, OWNERS = "unit/reconcile/test_drift", "unit/reconcile/test_ownership"
LAG, RUNNER = "unit/job/telemetry/test_lag", "unit/job/lifecycle/test_runner"

ITSELF: Mapping[str, Line] = {
    "quota": Line(
        "a ResourceQuota has no room for an executor",
        _of(E2E_EXECUTORS, "executors_that_a_quota_refuses_are_named_and_the_query_runs_on")
        + _of(PODS, "a_quota_is_named_with_what_it_lacks"),
    ),
    "refused-executors": Line(
        "an admission policy, Pod Security or a LimitRange refuses executors",
        _of(E2E_EXECUTORS, "executors_that_are_forbidden_or_fit_no_node_are_named")
        + _of(PODS, "other_refusals_have_a_reason_and_keep_their_words"),
    ),
    "waiting-executors": Line(
        "an executor's image cannot be pulled, or no node has room for it",
        _of("e2e/test_bad_input", "each_mistake_has_its_reason_and_heals")
        + _of(PODS, "a_pod_that_waits_tells_why"),
        "ExecutorsMissing/ImageCannotStart, ExecutorsMissing/Unschedulable",
    ),
    "refused-raise": Line(
        "executors of a trial are refused; also with the driver down, or without metrics",
        _of(PODS, "a_refused_raise_is_put_back_at_the_next_tick",
            "a_refused_raise_is_put_back_without_metrics"),
        "Revert/ExecutorsRefused: the ResourceQuota team has no room for an executor",
    ),
    "slow-executors": Line(
        "executors take long to start, or find no node",
        _of(CLOSED, "executors_that_start_slowly_are_waited_for",
            "pods_that_find_no_node_are_taken_back"),
        "Revert/PodsPending",
    ),
    "hanging-batch": Line(
        "a batch hangs while records wait",
        _of("e2e/test_faults", "a_batch_that_hangs_is_seen_restarts_the_driver_and_heals")
        + _of("unit/tuning/test_observed_latency", "the_largest_counts_and_says_what_it_is",
            "a_batch_that_hangs_breaks_the_goal")
        + _of("kafka/test_boundary", "a_stop_waits_for_the_first_batch_after_an_idle_time"),
        "GoalMet=False: the age of the running batch",
    ),
    "hanging-driver": Line(
        "a query makes no progress: the liveness probe fails; a long batch that gets on stays",
        _of("e2e/test_faults", "a_batch_that_hangs_is_seen_restarts_the_driver_and_heals")
        + _of("unit/job/telemetry/test_stall", "a_batch_that_takes_hours_but_gets_on_is_alive",
            "a_batch_that_makes_no_progress_hangs",
            "spark_that_does_not_answer_hangs_even_between_batches"),
        "/live: batch 7 makes no progress: nothing for 620 s, at most 600 s",
    ),
    "out-of-memory": Line(
        "the driver's heap is full",
        _of("unit/job/test_termination",
            "a_jvm_that_ended_itself_at_a_full_heap_is_named_whatever_call_failed_then")
        + _of("unit/reconcile/test_driver_pod", "out_of_memory_whatever_was_logged"),
        "Stalled/DriverOutOfMemory: the driver's heap is full: raise resources.driver.memory",
    ),
    "idle": Line(
        "the input stops: executors are released though no batch ends, all of them with min 0",
        _of("e2e/test_faults",
            "without_input_no_executor_runs_and_the_first_record_brings_them_back")
        + _of(CLOSED, "when_the_input_stops_the_executors_are_released_although_no_batch_ends",
            "without_input_for_long_no_executor_runs_until_a_record_comes")
        + _of("unit/tuning/test_idle", "all_executors_go_after_a_while_without_input",
              "the_first_record_brings_them_back", "the_delay_of_the_first_batch_is_told_once"),
        "Idle; then Awake with the delay of the first batch",
    ),
    "drained-node": Line(
        "nodes with executors are drained under load",
        _of(E2E_EXECUTORS, "a_drained_node_loses_no_record_and_repeats_none"),
    ),
    "drained-driver": Line(
        "a driver that must not be evicted has a PodDisruptionBudget",
        _of(E2E_EXECUTORS, "a_drained_node_loses_no_record_and_repeats_none")
        + _of("unit/reconcile/test_leftovers",
            "an_unevictable_driver_has_a_budget_until_it_is_evictable_again"),
    ),
    "failed-drain": Line(
        "a batch fails while the driver drains, or outlasts drainTimeout",
        _of("unit/job/lifecycle/test_machine",
            "a_query_that_dies_in_a_drain_ends_the_driver_with_its_failure")
        + _of("kafka/test_failures", "drain_timeout_is_an_unclean_stop"),
        "the driver's exit code and termination log",
    ),
    "slow-stop": Line(
        "a query stops slowly, or never, before its successor starts",
        _of(RUNNER, "a_restart_waits_for_a_query_that_stops_slowly",
            "a_query_that_never_stops_ends_the_driver_in_words"),
    ),
    "failed-report": Line(
        "a read that is only for the report fails",
        _of(RUNNER, "a_read_for_the_report_alone_fails_no_batch"),
        "a line of the driver's log",
    ),
}  # fmt: skip

DATA: Mapping[str, Line] = {
    "broker-list": Line(
        "bootstrapServers gains, loses or reorders an address; the sink's topic changes",
        _of(SOURCE, "a_query_goes_on_by_another_address_and_tells_how_old_what_waits_is")
        + _of("unit/reconcile/test_loop", "another_address_or_sink_keeps_the_checkpoint")
        + _of(GENERATIONS, "a_checkpoint_belongs_to_a_cluster_and_to_topics_by_their_ids"),
        "Event SinkChanged: the output goes to another topic from the next driver start on",
    ),
    "topic-anew": Line(
        "a topic is deleted and created again under its name",
        _of(CHECKPOINTS, "a_topic_that_was_created_again_is_refused_in_words"),
        "Stalled/CheckpointIncompatible",
    ),
    "other-topics": Line(
        "the source's topics are others than the checkpoint's",
        _of(CHECKPOINTS, "other_topics_are_refused_by_what_the_uri_holds")
        + _of(LOOP, "other_topics_need_a_new_checkpoint"),
        "Stalled/CheckpointIncompatible: raise checkpoint.generation",
    ),
    "beyond-end": Line(
        "a position lies beyond the end of its partition",
        _of(LAG, "a_position_beyond_the_end_is_told_once_it_stays_there")
        + _of("unit/reconcile/test_loop", "a_position_beyond_the_end_stalls"),
        "Stalled/PositionBeyondEnd",
    ),
    "generation": Line(
        "checkpoint.generation is raised, or lowered",
        _of(CHECKPOINTS, "a_new_generation_goes_on_where_the_last_one_was")
        + _of("unit/reconcile/test_loop", "a_generation_is_not_lowered"),
        "Stalled/CheckpointIncompatible: checkpoint.generation was 3 and cannot be lowered to 2",
    ),
    "starting-offsets": Line(
        "startingOffsets is a time, offsets for each partition, or nonsense",
        _of(SOURCE, "a_source_begins_at_the_offsets_and_at_the_time_that_are_said")
        + _of("unit/api/test_offsets", "what_can_be_written",
            "anything_else_is_refused_with_what_to_write")
        + _of(GENERATIONS, "every_partition_has_an_offset_and_none_is_skipped"),
        "refused with what to write",
    ),
    "uncommitted": Line(
        "a topic holds records of transactions that are open or were aborted",
        _of(SOURCE, "only_committed_records_are_read_and_waited_for",
            "who_asks_for_uncommitted_records_gets_all"),
    ),
    "ledger": Line(
        "records are planned and not read, or read and not delivered",
        _of("kafka/test_driver", "the_ledger_tells_other_records_from_the_same_number")
        + _of("unit/job/batches/test_ledger", "what_differs",
              "as_many_records_but_others_are_a_mismatch")
        + _of("unit/job/telemetry/test_arrivals", "records_that_did_not_arrive_are_missing")
        + _of("unit/job/batches/test_progress",
              "offsets_without_a_record_and_late_rows_are_counted"),
        "Event LedgerMismatch, trimtab_skipped_records_total",
    ),
    "retried-tasks": Line(
        "a task fails and runs again, and may write twice",
        _of(SOURCE, "a_task_that_fails_and_runs_again_is_counted"),
        "trimtab_failed_tasks_total",
    ),
    "late-rows": Line(
        "rows come behind the watermark and are dropped",
        _of("unit/job/batches/test_progress",
            "offsets_without_a_record_and_late_rows_are_counted")
        + _of("kafka/test_state", "append_writes_each_window_once_when_it_is_complete"),
        "Event LateRecords, trimtab_late_records_total",
    ),
    "sink-columns": Line(
        "the output has columns that Kafka has no place for, or one named topic",
        _of("unit/job/query/sinks/test_kafka_sink",
            "columns_that_do_not_suit_kafka_are_refused",
            "a_column_named_topic_does_not_choose_the_topic")
        + _of(SOURCE, "what_would_be_lost_is_refused_at_the_first_start"),
        "Stalled/TransformFailed",
    ),
    "own-input": Line(
        "a pipeline would read what it writes",
        _of("apiserver/test_crds", "bad_pipelines_are_refused_with_what_to_write_instead"),
        "refused: would read what it writes",
    ),
    "age-at-start": Line(
        "the driver restarts with records waiting: their age is read from Kafka",
        _of(SOURCE, "a_query_goes_on_by_another_address_and_tells_how_old_what_waits_is")
        + _of(LAG, "after_a_restart_the_waiting_records_tell_their_age",
            "a_record_that_cannot_be_read_leaves_the_age_unknown_and_is_asked_for_again"),
    ),
    "odd-timestamps": Line(
        "records carry no time, one ahead of ours, or that of the topic they were copied from",
        _of(SOURCE, "times_of_a_mirror_do_not_count_by_the_brokers_clock_and_headers_are_read")
        + _of("unit/job/batches/test_progress", "records_without_a_time_do_not_count_as_old",
            "a_clock_ahead_of_ours_gives_zero_not_less"),
    ),
    "slow-tail": Line(
        "the slowest 2.5 % of a batch are the late ones",
        _of("unit/job/batches/test_progress", "the_slowest_records_show_in_the_histogram"),
    ),
    "second-source": Line(
        "a Python transform reads a second streaming source",
        _of(SOURCE, "what_would_be_lost_is_refused_at_the_first_start"),
    ),
    "upgrade": Line(
        "a driver of the last release's image starts under a newer operator, and after it",
        _of("e2e/test_upgrade",
            "an_image_of_the_last_release_is_named_and_nothing_is_lost_until_it_is_replaced")
        + _of("kafka/test_upgrade",
              "a_pipeline_goes_through_an_upgrade_of_the_operator_and_then_of_its_image"),
    ),
    "unknown-keys": Line(
        "the job document has keys that the driver does not know",
        _of("unit/api/test_contract", "a_key_of_a_newer_operator_is_ignored_with_a_word",
            "a_driver_of_the_last_release_reads_what_says_nothing_new"),
    ),
}  # fmt: skip

ACCESS: Mapping[str, Line] = {
    "any-pod": Line(
        "a driver's account makes, changes or deletes a pod that is not its executor",
        _of(ADMISSION, "what_spark_makes_is_let_in", "any_other_pod_is_not",
            "pods_of_others_are_neither_changed_nor_deleted"),
        "refused by the ValidatingAdmissionPolicy of the chart",
    ),
    "token": Line(
        "user code in an executor wants the API server",
        _of("e2e/test_changes", "what_is_added_to_pods_is_on_drivers_and_executors")
        + _of("unit/job/test_session", "executor_pods_are_restricted_and_hold_no_token")
        + _of("unit/workloads/test_pipeline", "the_driver_has_no_rights_that_it_does_not_need",
              "the_role_names_the_one_document_and_no_secret"),
        "no token, no right",
    ),
    "images": Line(
        "a pipeline names another image than is allowed, or brings Python where it is not",
        _of(ADMISSION, "images_and_python_can_be_forbidden_to_pipelines"),
        "refused at the door",
    ),
    "restricted": Line(
        "namespaces enforce Pod Security restricted, all those of live tests too",
        _of(ADMISSION, "every_pod_is_let_in_where_only_restricted_ones_are")
        + _of("e2e/test_tuning", "a_load_step_that_one_executor_cannot_carry_is_met_with_more")
        + _of("e2e/test_changes", "planned_changes_under_backlog_lose_and_duplicate_nothing")
        + _of(CHART, "all_pods_run_as_the_same_user"),
    ),
    "unknown-user": Line(
        "pods run as a user that the image does not know",
        _of(E2E_EXECUTORS, "a_user_whom_the_image_does_not_know_can_log_in_to_hadoop")
        + _of("unit/images/test_entrypoint", "a_user_without_a_name_gets_one"),
    ),
    "bypasses": Line(
        "sparkConf, env or a pod template reaches beyond the pipeline",
        _of("apiserver/test_bypasses", "a_bypass_is_refused", "what_somebody_needs_is_taken")
        + _of("unit/test_bypasses", "a_bypass_is_refused_at_the_doors_that_the_table_names"),
        "refused; see the table in security.md",
    ),
    "taken-names": Line(
        "an object of somebody else has the name of a child",
        _of(LOOP, "objects_that_have_childrens_names_stay_as_they_are")
        + _of(OWNERS, "an_object_of_a_childs_name_stays_and_is_told",
              "a_claim_of_another_pipeline_is_not",
              "a_kafka_cluster_does_not_take_names_either"),
        "Stalled/NameTaken",
    ),
    "drift": Line(
        "somebody edits, scales or deletes children",
        _of(LOOP, "what_others_change_is_put_back")
        + _of(DRIFT, "a_scaled_driver_is_scaled_back_as_soon_as_the_watch_tells",
              "a_child_without_our_labels_is_found_and_labelled_again"),
        "put back at the next tick; Event DriftRepaired",
    ),
    "two-drivers": Line(
        "a driver is scaled to two, or a second one starts on its checkpoint",
        _of("e2e/test_changes", "a_second_driver_stays_out_and_nothing_comes_twice")
        + _of("unit/job/query/test_fence",
            "a_second_driver_waits_until_the_pod_of_the_first_is_gone",
            "a_driver_that_was_taken_over_writes_nothing_more")
        + _of(DRIFT, "a_second_driver_is_seen_as_long_as_it_is_there"),
    ),
    "flows": Line(
        "a pod connects where no policy lets it",
        _of("e2e/test_network", "connections_are_let_in_or_refused_as_the_page_says",
            "spark_listens_at_the_fixed_ports_and_no_others"),
        "refused; see the table in security.md",
    ),
    "unknown-executor": Line(
        "a process without the run's secret wants to join as an executor",
        _of("e2e/test_network", "each_run_has_its_secret_and_nobody_joins_without_it"),
    ),
    "slow-clients": Line(
        "clients of the metrics server send or read for ever",
        _of("unit/test_http", "requests_that_never_end_keep_nobody_out",
            "a_byte_now_and_then_does_not_extend_it",
            "an_answer_that_nobody_reads_has_a_limit_in_time",
            "answers_that_hang_are_bounded_too"),
    ),
    "rights": Line(
        "the operator has a right that it does not use",
        _of("apiserver/test_rights", "the_rights_are_those_that_it_uses")
        + _of(OPERATOR, "only_own_objects_are_watched_and_listed"),
        "none found: the audit log is compared with the roles",
    ),
    "strangers": Line(
        "the cluster has 5,000 pods of others",
        _of("apiserver/test_strangers", "five_thousand_pods_of_others_take_no_memory"),
    ),
    "no-images": Line(
        "nobody has said where the images are",
        _of(CHART, "the_images_that_are_missing_are_named"),
        "say where your images are: set images.operator, ...",
    ),
    "odd-rows": Line(
        "Prometheus answers with odd rows, too many, too much, or never",
        _of(PROMETHEUS, "an_odd_row_is_counted_and_the_others_are_read",
            "what_is_no_answer_is_unavailable", "an_answer_is_read_only_up_to_a_size",
            "an_answer_has_only_so_many_series", "an_answer_that_trickles_is_given_up",
            "an_answer_that_stops_is_given_up")
        + _of("apiserver/test_prometheus", "a_driver_with_too_many_series_is_left_out_and_told"),
        "MetricsAvailable=False, with the cause",
    ),
    "impostor": Line(
        "a pod has the labels of a pipeline and speaks for it",
        _of("apiserver/test_prometheus",
            "a_pod_with_the_labels_of_a_pipeline_does_not_speak_for_it")
        + _of("unit/reconcile/test_gather", "only_the_drivers_own_pod_speaks_for_the_pipeline"),
        "its series are counted and not read",
    ),
    "shared-prometheus": Line(
        "two clusters write into one Prometheus, or two jobs scrape one driver",
        _of("apiserver/test_prometheus",
            "a_driver_that_is_scraped_twice_counts_once_with_a_matcher")
        + _of("unit/reconcile/test_promql", "every_selector_of_every_query_has_the_matchers")
        + _of(CHART, "matchers_reach_the_operator_as_it_reads_them"),
    ),
    "password": Line(
        "the address of Prometheus holds a password",
        _of(PROMETHEUS, "the_password_is_in_no_message",
            "the_password_is_in_no_status_event_or_metric"),
        "it is shown nowhere",
    ),
    "two-operators": Line(
        "one of two operators is killed: the other takes over, no decision is made twice",
        _of(OPERATOR, "one_acts_with_the_rights_of_the_chart_and_another_takes_over",
            "a_killed_operator_is_followed_by_the_next_once_its_lease_has_ended"),
    ),
    "stale-operator": Line(
        "an operator acts on what another has overtaken",
        _of("unit/reconcile/test_two_operators",
            "an_old_object_drops_the_decision_and_writes_no_document",
            "the_next_list_heals_it"),
        "it has changed since it was read: the next tick acts on that",
    ),
    "pod-options": Line(
        "pull secrets, tolerations, affinity, priority, labels and annotations reach all pods",
        _of("e2e/test_changes", "what_is_added_to_pods_is_on_drivers_and_executors")
        + _of(PODS_OF_ALL, "all_that_is_asked_for_reaches_the_pods", "executors_get_the_same",
            "the_charts_secrets_and_policy_reach_the_pods"),
    ),
}  # fmt: skip

BROKERS_OF_OURS: Mapping[str, Line] = {
    "roll": Line(
        "brokers are replaced one by one, the next when all copies are in sync",
        _of("zones/test_zones", "an_edit_replaces_one_broker_after_the_other_under_load",
            "a_broker_is_ready_only_in_sync_and_a_drain_waits_for_it")
        + _of(ROLL, "which_broker_goes_next"),
        "Reconciling/BrokersRolling",
    ),
    "consent": Line(
        "a new default image would roll every cluster",
        _of(KAFKA, "an_upgrade_replaces_a_broker_only_with_consent")
        + _of(ROLL, "a_new_default_image_waits_for_consent", "consent_is_for_one_revision"),
        "UpdateAvailable/WaitsForConsent, with the annotation to set",
    ),
    "bad-edit": Line(
        "brokers do not start after an edit",
        _of(ROLL, "an_edit_that_does_not_start_stops_at_the_first_broker_and_can_be_mended",
            "where_no_broker_starts_an_edit_acts_all_the_same"),
        "Stalled, with what the pod says",
    ),
    "recovery": Line(
        "a broker reads its logs for up to an hour after a crash",
        _of(BROKERS, "a_broker_may_read_its_logs_for_an_hour_and_is_ready_by_its_own_state")
        + _of("kafka/test_image", "a_broker_says_whether_it_is_in_sync"),
    ),
    "growth": Line(
        "storage.size grows, shrinks, or cannot grow",
        _of(KAFKA, "a_volume_grows_and_later_edits_are_not_blocked",
            "a_volume_that_cannot_grow_is_said")
        + _of(VOLUMES, "a_volume_does_not_shrink_and_that_is_said"),
        "Reconciling/StorageGrowing, Stalled/StorageNotGrown",
    ),
    "full-disk": Line(
        "a broker's volume is full",
        _of("kafka/test_image", "a_full_volume_is_named_and_a_larger_one_brings_the_broker_back")
        + _of("unit/images/test_run", "a_broker_that_starts_on_a_full_volume_says_so")
        + _of(VOLUMES, "a_full_broker_that_is_down_gets_its_larger_volume"),
        "Stalled/DiskFull",
    ),
    "topic-edits": Line(
        "retention, partitions or the list of topics is edited",
        _of("kafka/test_image", "topics_are_made_grown_and_changed_by_kafkas_own_tools")
        + _of(KAFKA, "an_edit_that_cannot_act_is_refused",
              "a_topic_may_be_removed_and_come_back_with_less"),
        "done, or refused: Kafka cannot remove partitions",
    ),
    "spread": Line(
        "brokers keep to nodes and zones of their own",
        _of("zones/test_zones", "one_broker_a_zone_and_a_copy_in_each",
            "a_broker_comes_back_to_its_zone")
        + _of(BROKERS, "brokers_spread_over_zones_and_must_over_nodes"),
    ),
    "emptied-topics": Line(
        "topics are emptied, or their Job fails",
        _of(TOPICS, "emptied_topics_leave_no_job_and_say_what_stays",
            "a_failed_job_is_told_with_its_words_and_made_again"),
        "Stalled/TopicsFailed",
    ),
    "absurd-values": Line(
        "heaps that cannot fit, absurd durations, retentions, quantities, names, double env",
        _of("apiserver/test_crds", "bad_pipelines_are_refused_with_what_to_write_instead",
            "bad_kafka_clusters_are_refused")
        + _of("unit/api/test_bounds", "what_is_out_of_bounds_is_refused")
        + _of("unit/api/test_quantities", "what_is_no_duration_is_refused_with_an_example",
              "what_is_no_quantity_is_refused_with_an_example"),
        "refused: write a duration from 100ms to 24h",
    ),
    "half-rolled": Line(
        "a StatefulSet is ready by its old generation",
        _of(ROLL, "an_edit_replaces_one_broker_after_the_other",
            "nothing_goes_while_what_would_come_is_the_old"),
    ),
    "alike-names": Line(
        "executors of a--b look like those of a-b",
        _of("unit/reconcile/test_jvm", "the_pods_of_others_do_not_count")
        + _of(PODS, "only_executor_pods_count_for_their_pipeline"),
    ),
}  # fmt: skip

LINES: Mapping[str, Line] = {**ITSELF, **DATA, **ACCESS, **BROKERS_OF_OURS}

BY_TEST: Mapping[str, tuple[str, ...]] = {
    f"tests/{test}": tuple(key for key, line in LINES.items() if test in line.tests)
    for test in {test for line in LINES.values() for test in line.tests}
}
"""The lines that a test tries, by its node without parameters."""

ON_A_CLUSTER = ("tests/e2e/", "tests/zones/")
"""Where `make test` tries lines on a running cluster; all else needs none."""

if __name__ == "__main__":
    print(*sorted(test for test in BY_TEST if not test.startswith(ON_A_CLUSTER)))  # noqa: T201
