package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.PostingRequest;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.opentest4j.TestAbortedException;

/** A posting on a full send queue of libmlx5 writes nothing to the queue. */
@On(MLX5)
class RoomCheckTest {
  private static final int LENGTH = 64;
  private static final SendOperation[] MESSAGES = {SendOperation.SEND, SendOperation.SEND_WITH_IMM};
  private static final SendOperation[] WRITES = {
    SendOperation.SEND,
    SendOperation.SEND_WITH_IMM,
    SendOperation.RDMA_WRITE,
    SendOperation.RDMA_WRITE_WITH_IMM
  };
  private static final SendOperation[] ALL = {
    SendOperation.SEND,
    SendOperation.SEND_WITH_IMM,
    SendOperation.SEND_WITH_INV,
    SendOperation.RDMA_WRITE,
    SendOperation.RDMA_WRITE_WITH_IMM,
    SendOperation.RDMA_READ,
    SendOperation.ATOMIC_FETCH_AND_ADD,
    SendOperation.ATOMIC_CMP_AND_SWP,
    SendOperation.LOCAL_INV
  };

  private final Arena arena = Arena.ofShared();
  private Context context;
  private ProtectionDomain domain;
  private CompletionQueue completions;
  private MemoryRegion memory;

  @BeforeEach
  void open() {
    if (!Rig.a().name().startsWith("mlx5")) {
      throw new TestAbortedException("needs libmlx5");
    }
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
    completions = context.createCompletionQueue(512);
    memory = domain.registerMemory(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
  }

  @AfterEach
  void close() {
    try (arena) {
      if (context != null) {
        context.close();
      }
    }
  }

  /** A queue pair that is connected to itself; messages wait for a receive request. */
  private QueuePair queuePair(QueuePairType type, SendOperation... operations) {
    QueuePair queuePair =
        QueuePair.builder(domain, type)
            .completions(completions)
            .capacity(QueuePairCapacity.of(8).withSendSges(4).withMaxInlineData(LENGTH))
            .sendOperations(operations)
            .create();
    if (type == QueuePairType.RAW_PACKET) {
      queuePair.setup().port(1).init();
      queuePair.modify(QueuePairAttributes.toReadyToReceive(queuePair.type()).build());
      queuePair.modify(QueuePairAttributes.toReadyToSend(queuePair.type()).build());
    } else if (type == QueuePairType.UD) {
      queuePair.activate();
    } else {
      queuePair.connect(queuePair.localAddress());
    }
    return queuePair;
  }

  private PostingRequest request(Posting posting, SendOperation operation) {
    return switch (operation) {
      case SEND -> posting.send();
      case SEND_WITH_IMM -> posting.sendWithImmediate(1);
      case SEND_WITH_INV -> posting.sendWithInvalidate(1);
      case RDMA_WRITE -> posting.write(8, 1);
      case RDMA_WRITE_WITH_IMM -> posting.writeWithImmediate(8, 1, 1);
      case RDMA_READ -> posting.read(8, 1);
      case ATOMIC_FETCH_AND_ADD -> posting.fetchAndAdd(8, 1, 1);
      case ATOMIC_CMP_AND_SWP -> posting.compareAndSwap(8, 1, 1, 1);
      case LOCAL_INV -> posting.localInvalidate(1);
      case TSO -> posting.tso(memory.memory().asSlice(0, 54), 1460);
      default -> throw new AssertionError(operation);
    };
  }

  private void staysAsItIs(
      QueuePair queuePair,
      Consumer<SendRequest> toTarget,
      Consumer<PostingRequest> postedToTarget) {
    SendList list = new SendList(1, 1);
    toTarget.accept(list.send(0).local(memory, 0, LENGTH).signaled());
    int room = 0;
    while (queuePair.post(list) == 1) {
      room++;
    }
    assertTrue(room >= 8, () -> "room for few requests");
    byte[] before = queue(queuePair);
    for (SendOperation operation : queuePair.sendOperations()) {
      for (int parts = 1; parts <= 4; parts++) {
        try (Posting posting = queuePair.startPosting()) {
          PostingRequest request = request(posting, operation);
          boolean hasData = operation != SendOperation.LOCAL_INV;
          for (int i = 0; hasData && i < parts; i++) {
            request.local(memory, i * 8L, 8);
          }
          postedToTarget.accept(request);
          assertEquals(0, posting.complete());
        }
        assertArrayEquals(before, queue(queuePair), operation::toString);
      }
    }
  }

  private byte[] queue(QueuePair queuePair) {
    var queue = QueueMemory.queuePair(Providers.mlx5dv(), queuePair.segment().address());
    MemorySegment bytes = Memory.at(queue.sends(), (long) queue.sendBlocks() * queue.sendStride());
    return bytes.toArray(ValueLayout.JAVA_BYTE);
  }

  @DeviceTest
  void fullQueueOfAReliableConnectionStaysAsItIs() {
    staysAsItIs(queuePair(QueuePairType.RC, ALL), request -> {}, request -> {});
  }

  @DeviceTest
  void fullQueueOfAnUnreliableConnectionStaysAsItIs() {
    staysAsItIs(queuePair(QueuePairType.UC, WRITES), request -> {}, request -> {});
  }

  @DeviceTest
  void fullQueueOfDatagramsStaysAsItIs() {
    QueuePair queuePair = queuePair(QueuePairType.UD, MESSAGES);
    AddressHandle handle =
        domain.createAddressHandle(queuePair.setup().pathTo(queuePair.localAddress()));
    int number = queuePair.number();
    staysAsItIs(queuePair, r -> r.to(handle, number, 1), r -> r.to(handle, number, 1));
  }

  @DeviceTest
  void fullQueueOfPacketsStaysAsItIs() {
    staysAsItIs(
        queuePair(QueuePairType.RAW_PACKET, SendOperation.SEND), request -> {}, request -> {});
  }
}
