package org.apache.flink.autoscaler;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.type.TypeReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/**
 * One JSON object a line in, one out, until the input ends; {@code
 * {"options": {...}}} begins a new job, anything else is a tick of the job that was begun last.
 */
public final class JsonLines {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final TypeReference<Map<String, String>> OPTIONS = new TypeReference<>() {};

    private OneVertexJob job;

    private JsonLines() {}

    /** Answers on standard output, which belongs to the answers alone. */
    public static void main(String[] arguments) throws Exception {
        var lines = new JsonLines();
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(JSON.writeValueAsString(lines.answer(line)));
        }
        System.exit(0); // whatever threads the libraries left behind
    }

    private Map<String, Object> answer(String line) {
        try {
            var asked = JSON.readTree(line);
            if (asked.has("options")) {
                job = new OneVertexJob(JSON.convertValue(asked.get("options"), OPTIONS));
                return Map.of();
            }
            return Map.of("parallelism", job.scale(seen(asked)));
        } catch (Throwable error) {
            return Map.of("error", String.valueOf(error));
        }
    }

    private static OneVertexJob.Seen seen(JsonNode asked) {
        return new OneVertexJob.Seen(
                asked.required("now_ms").asLong(),
                asked.required("running_since_ms").asLong(),
                asked.required("parallelism").asInt(),
                asked.required("max_parallelism").asInt(),
                asked.required("partitions").asInt(),
                asked.required("records_in").asDouble(),
                asked.required("records_in_per_s").asDouble(),
                asked.required("busy_ms_per_s").asDouble(),
                asked.required("pending_records").asDouble());
    }
}
