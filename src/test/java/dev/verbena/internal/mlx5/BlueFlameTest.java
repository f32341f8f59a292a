package dev.verbena.internal.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.Need.C_QUEUES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.ThreadDomain;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.opentest4j.TestAbortedException;

/**
 * The emulated mlx5 executes the entries that libmlx5 copies into doorbell registers from there, as
 * a ConnectX does. Its thread runs beside the test: what it is to see at once is posted while the
 * queue pair is in state SQD.
 */
@Needs(C_QUEUES)
@On(value = MLX5, reason = "about registers of libmlx5")
class BlueFlameTest {
  /** The size of a half of a register. */
  private static final int HALF = 256;

  /** The control segment, the remote address, and the length of inline data. */
  private static final int BEFORE_INLINE = 36;

  private static final int LONGEST_COPIED = HALF - BEFORE_INLINE;
  private static final int INLINE = 300;
  private static final int SENDS = 4;
  private static final int ROUNDS = 5_000;

  private final Mlx5dv functions = Providers.mlx5dv();
  private Context context;
  private ProtectionDomain domain;

  @BeforeEach
  void open() {
    if (System.getenv("VERBENA_NIC") == null) {
      throw new TestAbortedException("counts what the emulated mlx5 executes");
    }
    reopen();
  }

  private void reopen() {
    context = Rig.a().open();
    domain = context.allocateProtectionDomain();
  }

  @AfterEach
  void close() {
    if (context != null) {
      context.close();
    }
  }

  /** A queue pair that is connected to itself, and writes to places of its region. */
  private final class Lane {
    final CompletionQueue queue;
    final QueuePair pair;
    final MemoryRegion region;
    final SendList sends = new SendList(SENDS, 1, INLINE);
    final Completions completions = new Completions(SENDS);
    final QueueMemory.OfQueuePair memory;

    Lane(ProtectionDomain domain) {
      this(context, domain);
    }

    Lane(Context context, ProtectionDomain domain) {
      queue = context.completionQueue(64).create();
      pair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(queue)
              .capacity(QueuePairCapacity.of(SENDS).withMaxInlineData(INLINE))
              .create();
      pair.connect(pair.localAddress());
      region = domain.allocateMemory(1 << 12, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      memory = QueueMemory.queuePair(functions, pair.segment().address());
    }

    /** Posts writes of so many inline bytes of this value to the places in turn. */
    void post(int value, int length, int requests) {
      for (int i = 0; i < requests; i++) {
        sends.write(i).inline(length).remote(address(value + i), region.rkey()).signaled();
        sends.inlineData(i).asSlice(0, length).fill((byte) (value + i));
      }
      assertEquals(requests, pair.post(sends, 0, requests));
    }

    /** Where the write of a value goes. */
    private long address(int value) {
      return region.start() + (value & 7) * 512L;
    }

    void await(int requests) {
      for (int done = 0, tries = 0; done < requests; tries++) {
        int count = queue.poll(completions);
        for (int i = 0; i < count; i++) {
          assertTrue(completions.isSuccess(i), () -> completions.describe(0));
        }
        done += count;
        Await.spin(tries);
      }
    }

    void hasWritten(int value, int length) {
      byte[] expected = new byte[length + 1];
      Arrays.fill(expected, 0, length, (byte) value);
      byte[] written = new byte[length + 1];
      for (int i = 0; i < written.length; i++) {
        written[i] = Memory.getByte(address(value) + i);
      }
      assertEquals(Arrays.toString(expected), Arrays.toString(written));
    }

    /** Where the inline data of an entry is in the send queue. */
    long inQueue(int block) {
      return memory.sends() + 64L * block + BEFORE_INLINE;
    }

    /** Where that of an entry is in a half of the register. */
    long inRegister(int half) {
      return memory.register() + (long) HALF * half + BEFORE_INLINE;
    }

    long startOf(int half) {
      return Memory.getLong(memory.register() + (long) HALF * half);
    }
  }

  /** Counts what the device executes of what is posted before it may begin. */
  private static BlueFlame held(Runnable posts, int requests, Lane... lanes) {
    BlueFlame before = BlueFlame.executed();
    for (Lane lane : lanes) {
      lane.pair.startDraining();
    }
    posts.run();
    for (Lane lane : lanes) {
      lane.pair.resume();
    }
    for (Lane lane : lanes) {
      lane.await(requests);
    }
    return BlueFlame.executed().since(before);
  }

  @DeviceTest
  void singleRequestsAreCopied() {
    Lane lane = new Lane(domain);
    for (int i = 0; i < 50; i++) {
      int value = i;
      assertEquals(new BlueFlame(1, 0), held(() -> lane.post(value, 8, 1), 1, lane), "post " + i);
      lane.hasWritten(value, 8);
    }
  }

  @DeviceTest
  void requestsWithSgesAreCopied() {
    Lane lane = new Lane(domain);
    Memory.putLong(lane.region.start(), 42);
    lane.sends
        .write(0)
        .local(lane.region, 0, 8)
        .remote(lane.region.start() + 8, lane.region.rkey())
        .signaled();
    assertEquals(
        new BlueFlame(1, 0),
        held(() -> assertEquals(1, lane.pair.post(lane.sends, 0, 1)), 1, lane));
    assertEquals(42, Memory.getLong(lane.region.start() + 8));
  }

  @DeviceTest
  void listsAreFetchedAndSingleRequestsAfterThemCopied() {
    Lane lane = new Lane(domain);
    for (int i = 0; i < 5; i++) {
      int value = 2 * i;
      assertEquals(new BlueFlame(0, 2), held(() -> lane.post(value, 8, 2), 2, lane));
      lane.hasWritten(value, 8);
      lane.hasWritten(value + 1, 8);
      assertEquals(new BlueFlame(1, 0), held(() -> lane.post(value + 5, 8, 1), 1, lane));
      lane.hasWritten(value + 5, 8);
    }
  }

  @DeviceTest
  void entriesOfUpToAHalfAreCopied() {
    Lane lane = new Lane(domain);
    assertEquals(new BlueFlame(1, 0), held(() -> lane.post(1, LONGEST_COPIED, 1), 1, lane));
    lane.hasWritten(1, LONGEST_COPIED);
    assertEquals(new BlueFlame(0, 1), held(() -> lane.post(2, LONGEST_COPIED + 1, 1), 1, lane));
    lane.hasWritten(2, LONGEST_COPIED + 1);
    assertEquals(new BlueFlame(1, 0), held(() -> lane.post(3, LONGEST_COPIED, 1), 1, lane));
  }

  @DeviceTest
  void theDeviceTakesTheRegisterRatherThanTheQueue() {
    Lane lane = new Lane(domain);
    BlueFlame executed =
        held(
            () -> {
              lane.post(1, 16, 1);
              Memory.putLong(lane.inQueue(0), -1);
              Memory.putByte(lane.inRegister(0) + 15, (byte) 7);
            },
            1,
            lane);
    assertEquals(new BlueFlame(1, 0), executed);
    assertEquals(0x0101010101010101L, Memory.getLong(lane.address(1)));
    assertEquals(0x0701010101010101L, Memory.getLong(lane.address(1) + 8));
  }

  @DeviceTest
  void halvesAreUsedInTurnAndErased() {
    Lane lane = new Lane(domain);
    long erased = lane.startOf(0);
    assertEquals(erased, lane.startOf(1));
    BlueFlame executed =
        held(
            () -> {
              lane.post(1, 16, 1);
              lane.post(2, 16, 1);
              assertEquals(Memory.getLong(lane.memory.sends()), lane.startOf(0));
              assertEquals(Memory.getLong(lane.memory.sends() + 64), lane.startOf(1));
              assertNotEquals(lane.startOf(0), lane.startOf(1));
              Memory.putLong(lane.inQueue(1), -1);
            },
            2,
            lane);
    assertEquals(new BlueFlame(2, 0), executed);
    lane.hasWritten(1, 16);
    lane.hasWritten(2, 16);
    for (int at = 0; at < 2 * HALF; at += Long.BYTES) {
      assertEquals(erased, Memory.getLong(lane.memory.register() + at), "register at " + at);
    }
  }

  @DeviceTest
  void whatWasOverwrittenInTheRegisterIsFetched() {
    Lane lane = new Lane(domain);
    BlueFlame executed =
        held(
            () -> {
              for (int value = 1; value <= 3; value++) {
                lane.post(value, 40, 1);
              }
            },
            3,
            lane);
    assertEquals(new BlueFlame(2, 1), executed);
    for (int value = 1; value <= 3; value++) {
      lane.hasWritten(value, 40);
    }
  }

  /** Eight bytes in front of an older copy do not make an entry. */
  @DeviceTest
  void aDoorbellOverAnOlderCopyIsNotExecuted() {
    Lane lane = new Lane(domain);
    BlueFlame before = BlueFlame.executed();
    lane.pair.startDraining();
    lane.post(1, 8, 1); // A copy in the first half.
    lane.post(2, 8, 1); // In the other one.
    lane.post(3, 8, 2); // Eight bytes in the first half.
    lane.pair.resume();
    lane.await(4);
    assertEquals(new BlueFlame(1, 3), BlueFlame.executed().since(before));
    for (int value = 1; value <= 4; value++) {
      lane.hasWritten(value, 8);
    }
  }

  /** Part of a copy, as the device sees it while the program writes it. */
  @DeviceTest
  void anIncompleteCopyIsFetched() {
    Lane lane = new Lane(domain);
    long erased = lane.startOf(0);
    BlueFlame executed =
        held(
            () -> {
              lane.post(1, 40, 1);
              Memory.putLong(lane.memory.register() + 64, erased);
            },
            1,
            lane);
    assertEquals(new BlueFlame(0, 1), executed);
    lane.hasWritten(1, 40);
  }

  @DeviceTest
  void copiesContinueAtTheStartOfTheQueue() {
    Lane lane = new Lane(domain);
    int blocks = lane.memory.sendBlocks();
    int wraps = 0;
    for (int i = 0, block = 0; i < 4 * blocks; i++, block = (block + 3) % blocks) {
      int value = i;
      assertEquals(new BlueFlame(1, 0), held(() -> lane.post(value, 150, 1), 1, lane), "post " + i);
      lane.hasWritten(value, 150);
      wraps += block + 3 > blocks ? 1 : 0;
    }
    assertTrue(wraps > 2, "entries that continue: " + wraps);
  }

  @DeviceTest
  void copiesFromBeforeAResetAreForgotten() {
    Lane lane = new Lane(domain);
    lane.pair.startDraining();
    lane.post(1, 8, 1);
    lane.pair.reset();
    lane.pair.connect(lane.pair.localAddress());
    assertEquals(new BlueFlame(1, 0), held(() -> lane.post(2, 8, 1), 1, lane));
    lane.hasWritten(2, 8);
    assertEquals(0, Memory.getByte(lane.address(1)));
  }

  /** Two queue pairs with one register: after the four that have their own, eleven are shared. */
  private List<Lane> sharing() {
    List<Lane> lanes = new ArrayList<>();
    for (int i = 0; i < 4 + 11 + 1; i++) {
      lanes.add(new Lane(domain));
    }
    List<Lane> sharing = List.of(lanes.getLast(), lanes.get(4));
    assertEquals(sharing.get(0).memory.register(), sharing.get(1).memory.register());
    return sharing;
  }

  @DeviceTest
  void queuePairsThatShareARegisterAreCopiedFrom() {
    List<Lane> sharing = sharing();
    Lane one = sharing.get(0);
    Lane other = sharing.get(1);
    BlueFlame executed =
        held(
            () -> {
              one.post(1, 8, 1);
              other.post(2, 8, 1);
            },
            1,
            one,
            other);
    assertEquals(new BlueFlame(2, 0), executed);
    one.hasWritten(1, 8);
    other.hasWritten(2, 8);
  }

  /** The rest of a half is of a request of the other queue pair that was not executed yet. */
  @DeviceTest
  void anIncompleteCopyOverOneOfAnotherQueuePairIsFetched() {
    List<Lane> sharing = sharing();
    Lane lane = sharing.get(0);
    Lane other = sharing.get(1);
    BlueFlame before = BlueFlame.executed();
    lane.pair.startDraining();
    other.pair.startDraining();
    other.post(1, 40, 1);
    lane.post(2, 40, 1);
    long end = lane.memory.register() + 64;
    final long older = Memory.getLong(end);
    lane.post(3, 40, 1);
    assertNotEquals(older, Memory.getLong(end));
    Memory.putLong(end, older);
    lane.pair.resume();
    lane.await(2);
    other.pair.resume();
    other.await(1);
    assertEquals(new BlueFlame(1, 2), BlueFlame.executed().since(before));
    other.hasWritten(1, 40);
    lane.hasWritten(2, 40);
    lane.hasWritten(3, 40);
  }

  @DeviceTest
  void threadDomainsHaveRegistersOfTheirOwn() {
    Lane one = new Lane(threadDomain());
    Lane other = new Lane(threadDomain());
    assertEquals(2 * HALF, Math.abs(one.memory.register() - other.memory.register()));
    BlueFlame executed =
        held(
            () -> {
              one.post(1, 8, 1);
              other.post(2, 8, 1);
              Memory.putLong(one.inQueue(0), -1);
              Memory.putLong(other.inQueue(0), -1);
            },
            1,
            one,
            other);
    assertEquals(new BlueFlame(2, 0), executed);
    one.hasWritten(1, 8);
    other.hasWritten(2, 8);
  }

  @DeviceTest
  void threadsWithThreadDomainsCopyWhileTheDeviceExecutes() throws Exception {
    run(List.of(new Lane(threadDomain()), new Lane(threadDomain())));
  }

  @DeviceTest
  void threadsThatShareARegisterCopyWhileTheDeviceExecutes() throws Exception {
    run(sharing());
  }

  /** The device may look between the doorbell record and the copy, and fetches the entry then. */
  private static void run(List<Lane> lanes) throws Exception {
    BlueFlame before = BlueFlame.executed();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (Lane lane : lanes) {
      FutureTask<Void> task = new FutureTask<>(() -> run(lane), null);
      Thread.ofPlatform().start(task);
      tasks.add(task);
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    BlueFlame executed = BlueFlame.executed().since(before);
    assertEquals((long) lanes.size() * SENDS * ROUNDS, executed.copied() + executed.fetched());
    assertTrue(executed.copied() > ROUNDS, executed.toString());
  }

  /** Posts single requests without waiting for each. */
  private static void run(Lane lane) {
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < SENDS; i++) {
        lane.post(SENDS * round + i, 20 + 50 * i, 1);
      }
      lane.await(SENDS);
      for (int i = 0; i < SENDS; i++) {
        lane.hasWritten(SENDS * round + i, 20 + 50 * i);
      }
    }
  }

  private ProtectionDomain threadDomain() {
    return ParentDomain.builder(domain).threadDomain(ThreadDomain.allocate(context)).create();
  }

  /** Libmlx5 allocates registers there, and names only the page of a queue pair. */
  @DeviceTest
  void requestsOfImportedContextsAreCopied() {
    try (Context imported = Device.importContext(context.commandDescriptor())) {
      ProtectionDomain ofImported = imported.importProtectionDomain(domain.handle());
      List<Lane> lanes = List.of(new Lane(imported, ofImported), new Lane(imported, ofImported));
      assertEquals(
          2 * HALF, Math.abs(lanes.get(0).memory.register() - lanes.get(1).memory.register()));
      BlueFlame executed =
          held(() -> lanes.forEach(lane -> lane.post(1, 8, 1)), 1, lanes.toArray(Lane[]::new));
      assertEquals(new BlueFlame(2, 0), executed);
      lanes.forEach(lane -> lane.hasWritten(1, 8));
    }
  }

  /** Libmlx5 allows one page more than the kernel. */
  @DeviceTest
  void aContextHasRegistersFor256ThreadDomains() {
    for (int i = 0; i < 256; i++) {
      ThreadDomain.allocate(context);
    }
    assertEquals(
        Errno.EINVAL,
        assertThrows(VerbsException.class, () -> ThreadDomain.allocate(context)).errno());
  }

  @DeviceTest
  void variablesOfLibmlx5PreventCopies() {
    with("MLX5_SHUT_UP_BF", "1");
    Lane lane = new Lane(domain);
    assertEquals(new BlueFlame(0, 1), held(() -> lane.post(1, 8, 1), 1, lane));
    lane.hasWritten(1, 8);
    with("MLX5_POST_SEND_PREFER_BF", "0");
    Lane inline = new Lane(domain);
    assertEquals(new BlueFlame(1, 0), held(() -> inline.post(1, 8, 1), 1, inline));
    inline.sends.write(0).local(inline.region, 0, 8);
    inline.sends.remote(0, inline.address(2), inline.region.rkey());
    inline.sends.signaled(0);
    assertEquals(
        new BlueFlame(0, 1),
        held(() -> assertEquals(1, inline.pair.post(inline.sends, 0, 1)), 1, inline));
  }

  /** The first register is that of queue pairs for which no other one is left. */
  @DeviceTest
  void nothingIsCopiedIntoTheFirstRegister() {
    with("MLX5_NUM_LOW_LAT_UUARS", "15");
    for (int i = 0; i < 15; i++) {
      Lane lane = new Lane(domain);
      assertEquals(new BlueFlame(1, 0), held(() -> lane.post(1, 8, 1), 1, lane));
    }
    Lane lane = new Lane(domain);
    assertEquals(new BlueFlame(0, 1), held(() -> lane.post(1, 8, 1), 1, lane));
    lane.hasWritten(1, 8);
  }

  /** Opens the context again with a variable of the environment. */
  private void with(String variable, String value) {
    context.close();
    Libc.setVariable(variable, value);
    try (Arena arena = Arena.ofConfined()) {
      reopen();
      Call.plain(Libc.find("unsetenv"), arena.allocateFrom(variable).address());
    }
  }
}
