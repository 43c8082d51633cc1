package org.apache.flink.autoscaler;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.autoscaler.event.AutoScalerEventHandler;
import org.apache.flink.autoscaler.metrics.FlinkMetric;
import org.apache.flink.autoscaler.realizer.ScalingRealizer;
import org.apache.flink.autoscaler.state.AutoScalerStateStore;
import org.apache.flink.autoscaler.state.InMemoryAutoScalerStateStore;
import org.apache.flink.autoscaler.topology.IOMetrics;
import org.apache.flink.autoscaler.topology.JobTopology;
import org.apache.flink.autoscaler.topology.VertexInfo;
import org.apache.flink.autoscaler.tuning.ConfigChanges;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.rest.messages.job.JobDetailsInfo;
import org.apache.flink.runtime.rest.messages.job.metrics.AggregatedMetric;
import org.apache.flink.runtime.rest.messages.job.metrics.Metric;

/**
 * A job of one source vertex that exists only as numbers, and the autoscaler's engine that tunes it.
 *
 * <p>It lives in the engine's package because the engine's clocks can be set from nowhere else.
 */
final class OneVertexJob {

    /** What one tick sees; times in ms, rates in records/s, busy in ms of each second. */
    record Seen(
            long nowMs,
            long runningSinceMs,
            int parallelism,
            int maxParallelism,
            int partitions,
            double recordsIn,
            double recordsInPerSecond,
            double busyMsPerSecond,
            double pendingRecords) {}

    private final JobVertexID vertex = new JobVertexID();
    private final TickClock clock = new TickClock();
    private final Outcome outcome = new Outcome();
    private final JobAutoScalerContext<JobID> context;
    private final JobAutoScalerImpl<JobID, JobAutoScalerContext<JobID>> engine;
    private Seen seen;

    /** A new job under a new engine, with options by Flink's own names. */
    OneVertexJob(Map<String, String> options) throws ReflectiveOperationException {
        var id = new JobID();
        var metrics = new UnregisteredMetricsGroup();
        var configuration = Configuration.fromMap(options);
        context = new JobAutoScalerContext<>(
                id, id, JobStatus.RUNNING, configuration, metrics, () -> null);
        var store = new InMemoryAutoScalerStateStore<JobID, JobAutoScalerContext<JobID>>();
        var collector = new Collector();
        var executor = new ScalingExecutor<>(outcome, store);
        engine = new JobAutoScalerImpl<>(
                collector, new ScalingMetricEvaluator(), executor, outcome, outcome, store);
        engine.setClock(clock);
        collector.setClock(clock);
        vertexScaler(executor).setClock(clock);
    }

    /** The parallelism that the engine wants once it has seen this. */
    int scale(Seen now) throws Exception {
        seen = now;
        clock.nowMs = now.nowMs();
        engine.scale(context);
        outcome.raise();
        return outcome.parallelism == null ? now.parallelism() : outcome.parallelism;
    }

    /** With a clock of its own and no way to set it: left alone, it would delay scale-downs for ever. */
    private static JobVertexScaler<?, ?> vertexScaler(ScalingExecutor<?, ?> executor)
            throws ReflectiveOperationException {
        var field = ScalingExecutor.class.getDeclaredField("jobVertexScaler");
        field.setAccessible(true);
        return (JobVertexScaler<?, ?>) field.get(executor);
    }

    /** One clock for everyone; it moves when a tick comes. */
    private static final class TickClock extends Clock {
        private long nowMs;

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return Instant.ofEpochMilli(nowMs);
        }
    }

    /** Gives the engine what was seen, where the original would ask Flink's REST server. */
    private final class Collector
            extends ScalingMetricCollector<JobID, JobAutoScalerContext<JobID>> {

        @Override
        public JobDetailsInfo getJobDetailsInfo(
                JobAutoScalerContext<JobID> context, Duration clientTimeout) {
            return null; // the two that read it are below
        }

        @Override
        protected Instant getJobRunningTs(JobDetailsInfo details) {
            return Instant.ofEpochMilli(seen.runningSinceMs());
        }

        @Override
        protected JobTopology getJobTopology(
                JobAutoScalerContext<JobID> context,
                AutoScalerStateStore<JobID, JobAutoScalerContext<JobID>> store,
                JobDetailsInfo details) {
            // a source counts its records in a metric of the source operator, not of the task
            var counts = new IOMetrics(0, 0, 0);
            var info = new VertexInfo(
                    vertex, Map.of(), seen.parallelism(), seen.maxParallelism(), counts);
            info.setNumSourcePartitions(seen.partitions());
            return new JobTopology(info);
        }

        @Override
        protected Map<JobVertexID, Map<String, FlinkMetric>> queryFilteredMetricNames(
                JobAutoScalerContext<JobID> context, JobTopology topology) {
            return Map.of();
        }

        @Override
        protected Map<JobVertexID, Map<FlinkMetric, AggregatedMetric>> queryAllAggregatedMetrics(
                JobAutoScalerContext<JobID> context,
                Map<JobVertexID, Map<String, FlinkMetric>> names) {
            return Map.of(vertex, Map.of(
                    FlinkMetric.PENDING_RECORDS, all(seen.pendingRecords()),
                    FlinkMetric.SOURCE_TASK_NUM_RECORDS_IN, all(seen.recordsIn()),
                    FlinkMetric.SOURCE_TASK_NUM_RECORDS_IN_PER_SEC, all(seen.recordsInPerSecond()),
                    FlinkMetric.BUSY_TIME_PER_SEC, all(seen.busyMsPerSecond()),
                    FlinkMetric.BACKPRESSURE_TIME_PER_SEC, all(0)));
        }

        @Override
        protected Map<FlinkMetric, Metric> queryJmMetrics(JobAutoScalerContext<JobID> context) {
            return Map.of();
        }

        @Override
        protected Map<FlinkMetric, AggregatedMetric> queryTmMetrics(
                JobAutoScalerContext<JobID> context) {
            return Map.of();
        }

        /** One number for the whole vertex, whichever aggregate the engine picks. */
        private static AggregatedMetric all(double value) {
            return new AggregatedMetric("", value, value, value, value, 0.0);
        }
    }

    /** Keeps what the engine wants, and what went wrong: its errors go to the event handler only. */
    private static final class Outcome
            implements ScalingRealizer<JobID, JobAutoScalerContext<JobID>>,
                    AutoScalerEventHandler<JobID, JobAutoScalerContext<JobID>> {
        private Integer parallelism;
        private Throwable failure;

        @Override
        public void realizeParallelismOverrides(
                JobAutoScalerContext<JobID> context, Map<String, String> overrides) {
            parallelism = Integer.valueOf(overrides.values().iterator().next());
        }

        @Override
        public void realizeConfigOverrides(
                JobAutoScalerContext<JobID> context, ConfigChanges changes) {}

        @Override
        public void handleEvent(
                JobAutoScalerContext<JobID> context, Type type, String reason, String message,
                String messageKey, Duration interval) {}

        @Override
        public void handleException(
                JobAutoScalerContext<JobID> context, String reason, Throwable error) {
            failure = error;
        }

        @Override
        public void close() {}

        private void raise() throws Exception {
            if (failure != null) {
                var error = failure;
                failure = null;
                throw new Exception(error);
            }
        }
    }
}
