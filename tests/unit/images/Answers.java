/*
 * Writes answers.txt: messages as Kafka's own classes encode them, by name, with their size, in hex.
 *
 *   java -cp "$(.venv/bin/python -c 'from dev.kafka import jars; print(jars("kafka"))')/*" \
 *     tests/unit/images/Answers.java > tests/unit/images/answers.txt
 */

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.message.DescribeQuorumRequestData;
import org.apache.kafka.common.message.DescribeQuorumResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseBroker;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class Answers {
    private static final short METADATA = 7;
    private static final short QUORUM = 0;
    private static final String LOG = "__cluster_metadata";

    public static void main(String[] arguments) {
        request("METADATA_REQUEST", ApiKeys.METADATA, METADATA,
            new MetadataRequestData().setTopics(null).setAllowAutoTopicCreation(false));
        DescribeQuorumRequestData.TopicData asked =
            new DescribeQuorumRequestData.TopicData().setTopicName(LOG);
        asked.partitions().add(new DescribeQuorumRequestData.PartitionData().setPartitionIndex(0));
        request("QUORUM_REQUEST", ApiKeys.DESCRIBE_QUORUM, QUORUM,
            new DescribeQuorumRequestData().setTopics(List.of(asked)));
        answer("WELL", ApiKeys.METADATA, METADATA, metadata(false));
        answer("SICK", ApiKeys.METADATA, METADATA, metadata(true));
        answer("LED", ApiKeys.DESCRIBE_QUORUM, QUORUM, quorum(0, 1));
        answer("UNLED", ApiKeys.DESCRIBE_QUORUM, QUORUM, quorum(0, -1));
        answer("REFUSED", ApiKeys.DESCRIBE_QUORUM, QUORUM, quorum(6, -1));
        answer("TOP_ERROR", ApiKeys.DESCRIBE_QUORUM, QUORUM,
            new DescribeQuorumResponseData().setErrorCode((short) 31));
    }

    /** Three brokers, of which broker 1 lags in two partitions if the cluster is sick. */
    private static MetadataResponseData metadata(boolean sick) {
        MetadataResponseData data =
            new MetadataResponseData().setClusterId("tAAAAAAAAAAAAAAAAAAAAA").setControllerId(1);
        for (int id = 0; id < 3; id++) {
            data.brokers().add(new MetadataResponseBroker()
                .setNodeId(id)
                .setHost("events-kafka-" + id + ".events-kafka.n.svc")
                .setPort(9092)
                .setRack(id == 0 ? null : "zone-" + id));
        }
        MetadataResponseTopic clicks = new MetadataResponseTopic().setName("clicks");
        clicks.partitions().add(partition(0, 0, List.of(0, 1, 2), List.of(0, 1, 2)));
        clicks.partitions().add(
            partition(1, 2, List.of(1, 2, 0), sick ? List.of(2, 0) : List.of(2, 0, 1)));
        MetadataResponseTopic offsets =
            new MetadataResponseTopic().setName("__consumer_offsets").setIsInternal(true);
        offsets.partitions().add(
            partition(0, sick ? 2 : 1, List.of(1, 2), sick ? List.of(2) : List.of(1, 2)));
        data.topics().add(clicks);
        data.topics().add(offsets);
        return data;
    }

    private static MetadataResponsePartition partition(
            int index, int leader, List<Integer> copies, List<Integer> inSync) {
        return new MetadataResponsePartition()
            .setPartitionIndex(index)
            .setLeaderId(leader)
            .setLeaderEpoch(7)
            .setReplicaNodes(copies)
            .setIsrNodes(inSync)
            .setOfflineReplicas(List.of());
    }

    private static DescribeQuorumResponseData quorum(int error, int leader) {
        DescribeQuorumResponseData.PartitionData partition =
            new DescribeQuorumResponseData.PartitionData()
                .setPartitionIndex(0)
                .setErrorCode((short) error)
                .setLeaderId(leader)
                .setLeaderEpoch(3)
                .setHighWatermark(99);
        partition.currentVoters().add(
            new DescribeQuorumResponseData.ReplicaState().setReplicaId(1).setLogEndOffset(100));
        DescribeQuorumResponseData.TopicData log =
            new DescribeQuorumResponseData.TopicData().setTopicName(LOG);
        log.partitions().add(partition);
        return new DescribeQuorumResponseData().setTopics(List.of(log));
    }

    private static void request(String name, ApiKeys key, short version, Message body) {
        RequestHeaderData header = new RequestHeaderData()
            .setRequestApiKey(key.id)
            .setRequestApiVersion(version)
            .setCorrelationId(1)
            .setClientId(null);
        print(name, bytes(header, key.requestHeaderVersion(version)), bytes(body, version));
    }

    private static void answer(String name, ApiKeys key, short version, Message body) {
        ResponseHeaderData header = new ResponseHeaderData().setCorrelationId(1);
        print(name, bytes(header, key.responseHeaderVersion(version)), bytes(body, version));
    }

    private static byte[] bytes(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] found = new byte[buffer.remaining()];
        buffer.get(found);
        return found;
    }

    private static void print(String name, byte[] header, byte[] body) {
        HexFormat hex = HexFormat.of();
        String size = String.format("%08x", header.length + body.length);
        System.out.println(name + " " + size + hex.formatHex(header) + hex.formatHex(body));
    }
}
