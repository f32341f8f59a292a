package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tag matching between two devices, as rdma-core's Documentation/tag_matching.md defines it. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no tag matching")
class TagMatchingDeviceTest {
  private static final int NO_TAG = 0;
  private static final int EAGER = 3;

  private Arena arena;
  private MemorySegment memory;
  private Pair pair;
  private ExtendedCompletionQueue received;
  private SharedReceiveQueue queue;
  private MemoryRegion source;
  private MemoryRegion target;

  @BeforeEach
  void open() {
    arena = Arena.ofShared();
    memory = arena.allocate(1 << 16, 4096);
    pair = new Pair();
    Context there = pair.b.context;
    CompletionQueue.Builder builder = there.completionQueue(64);
    received =
        Rig.orSkip(() -> builder.createExtended(CompletionField.BYTE_LEN, CompletionField.TM_INFO));
    queue =
        Rig.orSkip(
            SharedReceiveQueue.builder(pair.b.domain, 16)
                    .tagMatching(received)
                    .maxTags(8)
                    .maxTagOperations(8)
                ::create);
    source = pair.a.domain.registerMemory(memory.asSlice(0, 1 << 15));
    target = pair.b.domain.registerMemory(memory.asSlice(1 << 15), AccessFlag.LOCAL_WRITE);
    pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
    pair.b.queuePair =
        QueuePair.builder(pair.b.domain, QueuePairType.RC)
            .completions(there.createCompletionQueue(16))
            .sharedReceiveQueue(queue)
            .create();
    pair.connect();
  }

  @AfterEach
  void close() {
    pair.close();
    arena.close();
  }

  /** What a completion of the queue says. */
  private record Seen(
      long id,
      CompletionOpcode opcode,
      CompletionStatus status,
      long length,
      Set<CompletionFlag> flags,
      long tag,
      int data) {}

  private Seen next() {
    return Await.value(() -> "a completion", this::poll);
  }

  private @Nullable Seen poll() {
    try (CompletionCursor cursor = received.startPolling()) {
      if (!cursor.next()) {
        return null;
      }
      Set<CompletionFlag> flags = new TreeSet<>();
      for (CompletionFlag flag : CompletionFlag.values()) {
        if (cursor.has(flag)) {
          flags.add(flag);
        }
      }
      return new Seen(
          cursor.id(),
          cursor.opcode(),
          cursor.status(),
          cursor.byteLength(),
          flags,
          cursor.tag(),
          cursor.tagData());
    }
  }

  private void send(int operation, long tag, int data, int length) {
    memory
        .asSlice(0, 16)
        .asByteBuffer()
        .put((byte) operation)
        .put(new byte[3])
        .putInt(data)
        .putLong(tag);
    for (int i = 0; i < length; i++) {
      memory.set(ValueLayout.JAVA_BYTE, 16 + i, (byte) (i * 7L + tag));
    }
    SendList list = new SendList(1, 1);
    list.send(0).local(source, 0, 16 + length).signaled();
    pair.a.run(list);
  }

  private void post(int id, long offset) {
    ReceiveList list = new ReceiveList(1, 1);
    list.id(0, id);
    list.local(0, target, offset, 8192);
    assertEquals(1, queue.post(list));
  }

  /** Adds a tagged buffer, and waits until it is in the list. */
  private int add(long tag, long mask, long id, long offset, int unexpected) {
    TagOperations operations = new TagOperations(1, 1);
    operations.add(0, tag, mask, id);
    operations.local(0, target, offset, 8192);
    operations.unexpected(0, unexpected);
    operations.signaled(0, 60);
    assertEquals(1, queue.post(operations));
    Seen added = next();
    assertEquals(CompletionOpcode.TM_ADD, added.opcode());
    assertEquals(60, added.id());
    return operations.handle(0);
  }

  private void assertReceived(long offset, int header, int length) {
    assertEquals(
        -1,
        memory
            .asSlice(16 - header, header + length)
            .mismatch(memory.asSlice((1 << 15) + offset, header + length)));
  }

  @DeviceTest
  void eagerMessageGoesToTheBufferOfItsTag() {
    add(0x1234, -1, 7, 0, 0);
    add(0x5600, 0xff00, 8, 8192, 0);
    send(EAGER, 0x5677, 0x0102_0304, 100);
    assertEquals(
        new Seen(
            8,
            CompletionOpcode.TM_RECV,
            CompletionStatus.SUCCESS,
            100,
            Set.of(CompletionFlag.TM_MATCH, CompletionFlag.TM_DATA_VALID),
            0x5677,
            0x0102_0304),
        next());
    assertReceived(8192, 0, 100);
    send(EAGER, 0x1234, 0, 0);
    assertEquals(7, next().id());
  }

  /** A message matches if {@code TMH.tag & mask == tag}: {@code ibv_post_srq_ops(3)}. */
  @DeviceTest
  void tagWithABitOutsideItsMaskMatchesNothing() {
    add(0x5601, 0xff00, 8, 0, 0);
    post(1, 8192);
    send(EAGER, 0x5601, 0, 10);
    assertEquals(1, next().id());
  }

  @DeviceTest
  void longMessageCompletesTwice() {
    add(1, -1, 7, 0, 0);
    send(EAGER, 1, 0, 5000);
    Seen matched = next();
    assertEquals(Set.of(CompletionFlag.TM_MATCH), matched.flags());
    Seen valid = next();
    assertEquals(Set.of(CompletionFlag.TM_DATA_VALID), valid.flags());
    assertEquals(7, valid.id());
    assertEquals(5000, valid.length());
    assertReceived(0, 0, 5000);
  }

  @DeviceTest
  void unexpectedMessageDisablesNewTagsUntilItIsReported() {
    post(1, 0);
    post(2, 8192);
    send(EAGER, 1, 0, 10);
    Seen unexpected = next();
    // libmlx5 says that it was received by its tag, and asks to synchronize after thousands alone.
    assertEquals(
        Rig.isSoftware() ? CompletionOpcode.RECV : CompletionOpcode.TM_RECV, unexpected.opcode());
    assertEquals(26, unexpected.length(), "with its header");
    assertEquals(
        Rig.isSoftware() ? Set.of(CompletionFlag.TM_SYNC_REQ) : Set.of(), unexpected.flags());
    assertReceived(0, 16, 10);
    add(1, -1, 9, 16384, 0);
    send(EAGER, 1, 0, 20);
    assertEquals(2, next().id(), "the new tag is not enabled");
    TagOperations synchronize = new TagOperations(1, 0);
    synchronize.synchronize(0, 2);
    synchronize.signaled(0, 70);
    assertEquals(1, queue.post(synchronize));
    assertEquals(CompletionOpcode.TM_SYNC, next().opcode());
    send(EAGER, 1, 0, 30);
    assertEquals(9, next().id());
  }

  @DeviceTest
  void messageWithoutTagMatchesNone() {
    add(0, 0, 9, 0, 0); // Would match any tag.
    post(1, 8192);
    send(NO_TAG, 0, 0, 10);
    Seen seen = next();
    assertEquals(CompletionOpcode.TM_NO_TAG, seen.opcode());
    assertEquals(1, seen.id());
    assertEquals(Set.of(), seen.flags(), "it is not unexpected");
  }

  @DeviceTest
  void deletedTagMatchesNothingAndConsumedTagIsGone() {
    int handle = add(1, -1, 9, 0, 0);
    send(EAGER, 1, 0, 1);
    TagOperations delete = new TagOperations(1, 0);
    delete.delete(0, handle);
    delete.signaled(0, 70);
    assertEquals(1, queue.post(delete));
    assertEquals(9, next().id());
    Seen refused = next();
    assertEquals(70, refused.id());
    assertEquals(CompletionStatus.TM_ERR, refused.status(), "consumed");
    int other = add(1, -1, 9, 0, 0);
    delete.delete(0, other);
    delete.signaled(0, 71);
    assertEquals(1, queue.post(delete));
    assertEquals(71, next().id());
    post(1, 0);
    send(EAGER, 1, 0, 1);
    assertEquals(1, next().id(), "the plain receive");
  }

  @DeviceTest
  void fullListTakesNoTag() {
    TagOperations operations = new TagOperations(10, 1);
    for (int i = 0; i < 10; i++) {
      operations.add(i, i, -1, i);
    }
    assertEquals(8, queue.post(operations));
  }

  private void refusesQueue(CompletionQueue completions, int tags, String... reasons) {
    VerbsException refused =
        assertThrows(
            VerbsException.class,
            () ->
                SharedReceiveQueue.builder(pair.b.domain, 16)
                    .tagMatching(completions)
                    .maxTags(tags)
                    .create());
    assertEquals(Errno.EINVAL, refused.errno());
    for (String reason : reasons) {
      assertTrue(refused.getMessage().contains(reason), refused::getMessage);
    }
  }

  @DeviceTest
  void aQueueForMoreTagsIsRefusedWithTheLimit() {
    int most = pair.b.context.deviceAttributes().tagMatching().maxTags();
    int tags = most + 1;
    refusesQueue(received, tags, "with " + tags + " tags", "the maximum is " + most + " tags");
  }

  @DeviceTest
  @On(value = MLX5, reason = "software devices write the tags to any completion queue")
  void aPlainCompletionQueueIsRefused() {
    refusesQueue(pair.b.context.createCompletionQueue(64), 8, "extended completion queue");
  }
}
