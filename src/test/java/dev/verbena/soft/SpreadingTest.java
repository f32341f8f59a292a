package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Frames;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.FlowType;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveHash;
import dev.verbena.verbs.ReceiveHashField;
import dev.verbena.verbs.ReceiveHashFunction;
import dev.verbena.verbs.ReceiveIndirectionTable;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueFlag;
import dev.verbena.verbs.WorkQueueState;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Receive side scaling (RSS) from one device to another: hash, table, work queues. */
class SpreadingTest {
  private static final String MAC = "02:00:00:00:00:0a";

  /** The key and the values of Microsoft's suite for the verification of RSS. */
  private static final byte[] KEY =
      HexFormat.of()
          .parseHex(
              "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");

  private final SoftNetwork network = SoftNetwork.create();
  private final RawEnd a = new RawEnd(network.addDevice("soft0"));
  private final RawEnd b = new RawEnd(network.addDevice("soft1"));
  private final List<CompletionQueue> completions = new ArrayList<>();
  private final List<WorkQueue> queues = new ArrayList<>();

  @AfterEach
  void close() {
    a.close();
    b.close();
    network.close();
  }

  @ParameterizedTest
  @CsvSource({
    "66.9.149.187, 2794, 161.142.100.80, 1766, 323e8fc2, 51ccc178",
    "199.92.111.2, 14230, 65.69.140.83, 4739, d718262a, c626b0ea",
    "24.19.198.95, 12898, 12.22.207.184, 38024, d2d0a5de, 5c2b394a",
    "3ffe:2501:200:1fff::7, 2794, 3ffe:2501:200:3::1, 1766, 2cc18cd5, 40207d3d",
    "3ffe:501:8::260:97ff:fe40:efab, 14230, ff02::1, 4739, 0f0c461c, dde51bbf"
  })
  void hashIsThatOfOtherDevices(
      String from, int fromPort, String to, int toPort, String addresses, String ports)
      throws Exception {
    byte[] source = InetAddress.getByName(from).getAddress();
    byte[] destination = InetAddress.getByName(to).getAddress();
    ByteBuffer input = ByteBuffer.allocate(36).put(source).put(destination);
    int length = input.position();
    Toeplitz hash = new Toeplitz(KEY);
    assertEquals(addresses, HexFormat.of().toHexDigits(hash.hash(input.array(), length)));
    input.putShort((short) fromPort).putShort((short) toPort);
    assertEquals(ports, HexFormat.of().toHexDigits(hash.hash(input.array(), length + 4)));
  }

  /** A queue pair that spreads frames over four work queues. */
  private QueuePair spreading(ReceiveHashField... fields) {
    for (int i = 0; i < 4; i++) {
      CompletionQueue queue = b.context.createCompletionQueue(64);
      WorkQueue work = b.domain.workQueue().completions(queue).maxRequests(64).create();
      work.modify(WorkQueueState.RDY);
      completions.add(queue);
      queues.add(work);
    }
    ReceiveIndirectionTable table = b.context.createReceiveIndirectionTable(queues);
    return b.domain
        .queuePair(QueuePairType.RAW_PACKET)
        .receiveSideScaling(
            table, new ReceiveHash(ReceiveHashFunction.TOEPLITZ, KEY, Set.of(fields)))
        .create();
  }

  private void receive(int queue, int count) {
    for (int i = 0; i < count; i++) {
      ReceiveList list = new ReceiveList(1, 1);
      list.id(0, queue);
      list.local(0, b.region, (long) queue * RawEnd.SLOT, RawEnd.SLOT);
      assertEquals(1, queues.get(queue).post(list));
    }
  }

  /** How many frames each queue received since this was last asked. */
  private List<Integer> received() {
    Completions batch = new Completions(64);
    return completions.stream().map(queue -> queue.poll(batch)).toList();
  }

  @Test
  void flowsAreSpreadAndEachStaysInItsQueue() {
    QueuePair queuePair =
        spreading(
            ReceiveHashField.SRC_IPV4,
            ReceiveHashField.DST_IPV4,
            ReceiveHashField.SRC_PORT_UDP,
            ReceiveHashField.DST_PORT_UDP);
    queuePair.flowRule(1).type(FlowType.ALL_DEFAULT).create();
    for (int i = 0; i < 4; i++) {
      receive(i, 64);
    }
    Set<Integer> used = new TreeSet<>();
    for (int port = 0; port < 16; port++) {
      byte[] frame = Frames.udp(MAC, 0x4209_95bb, 0xa18e_6450, 2794, port, 8);
      a.send(frame);
      a.send(frame);
      List<Integer> received = received();
      used.add(received.indexOf(2));
      assertEquals(2, received.stream().mapToInt(i -> i).sum());
    }
    assertEquals(Set.of(0, 1, 2, 3), used);
    // 51ccc178 is for TCP as well; its lowest two bits are 0.
    a.send(Frames.udp(MAC, 0x4209_95bb, 0xa18e_6450, 2794, 1766, 8));
    assertEquals(List.of(1, 0, 0, 0), received());
    // A frame without the fields has the hash 0.
    a.send(Frames.tcp(MAC, 0x4209_95bb, 0xa18e_6450, 1, 7, 8));
    assertEquals(List.of(1, 0, 0, 0), received());
  }

  @Test
  void addressesAloneAreHashed() {
    spreading(ReceiveHashField.SRC_IPV4, ReceiveHashField.DST_IPV4)
        .flowRule(1)
        .type(FlowType.SNIFFER)
        .create();
    receive(2, 1); // The hash is 323e8fc2.
    a.send(Frames.tcp(MAC, 0x4209_95bb, 0xa18e_6450, 1, 7, 8));
    assertEquals(List.of(0, 0, 1, 0), received());
  }

  @Test
  void completionsNameTheWorkQueueAndFailedQueuesFlush() {
    spreading().flowRule(1).type(FlowType.SNIFFER).create();
    receive(0, 3);
    a.send(Frames.udp(MAC, 1, 2, 3, 4, 5));
    Completions batch = new Completions(8);
    assertEquals(1, completions.getFirst().poll(batch));
    assertEquals(queues.getFirst().number(), batch.queuePairNumber(0));
    queues.getFirst().modify(WorkQueueState.ERR);
    assertEquals(2, completions.getFirst().poll(batch));
    assertEquals(CompletionStatus.WR_FLUSH_ERR, batch.status(1));
    receive(0, 1);
    assertEquals(1, completions.getFirst().poll(batch), "flushed at once");
    VerbsException ready =
        assertThrows(VerbsException.class, () -> queues.getFirst().modify(WorkQueueState.RDY));
    assertEquals(Errno.EINVAL, ready.errno());
    queues.getFirst().modify(WorkQueueState.RESET);
    queues.getFirst().modify(WorkQueueState.RDY);
    receive(0, 1);
    a.send(Frames.udp(MAC, 1, 2, 3, 4, 5));
    assertEquals(1, completions.getFirst().poll(batch));
    assertTrue(batch.isSuccess(0));
  }

  @Test
  void tagsAreStrippedWhileTheQueueIsUsed() {
    spreading().flowRule(1).type(FlowType.SNIFFER).create();
    receive(0, 2);
    byte[] frame = Frames.tagged(Frames.udp(MAC, 1, 2, 3, 4, 50), 7);
    Completions batch = new Completions(8);
    queues.getFirst().modify(Set.of(WorkQueueFlag.CVLAN_STRIPPING), Set.of());
    a.send(frame);
    assertEquals(1, completions.getFirst().poll(batch));
    assertEquals(frame.length - 4, batch.byteLength(0));
    queues.getFirst().modify(Set.of(), Set.of(WorkQueueFlag.CVLAN_STRIPPING));
    a.send(frame);
    assertEquals(1, completions.getFirst().poll(batch));
    assertEquals(frame.length, batch.byteLength(0));
  }

  @Test
  void keyOfAnotherLengthThrows() {
    WorkQueue work = b.domain.workQueue().completions(b.completions).create();
    ReceiveIndirectionTable table = b.context.createReceiveIndirectionTable(List.of(work));
    VerbsException e =
        assertThrows(
            VerbsException.class,
            () ->
                b.domain
                    .queuePair(QueuePairType.RAW_PACKET)
                    .receiveSideScaling(
                        table, new ReceiveHash(ReceiveHashFunction.TOEPLITZ, new byte[8], Set.of()))
                    .create());
    assertEquals(Errno.EINVAL, e.errno());
  }
}
