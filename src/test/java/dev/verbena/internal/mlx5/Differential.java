package dev.verbena.internal.mlx5;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairSession;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.ReceiveQueue;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;

/**
 * Posts the same random requests through libmlx5 and directly, on the emulated NIC in step mode,
 * and compares the queues in memory, the doorbells and the completions: {@code Differential SEED
 * REQUESTS}. Both use the same memory region, so that entries differ in numbers of queue pairs
 * only.
 */
final class Differential {
  private static final int SENDS = 24;
  private static final int RECEIVES = 64;
  private static final int SGES = 4;
  private static final int INLINE = 200;
  private static final int LIST = 40;
  private static final int MEMORY = 1 << 16;
  private static final int LONGEST = 400;
  private static final int RACE = 1000;
  private static final int QUEUE_KEY = 0x1234567;

  /** The pairs of queue pairs. The receiver of the second one has a shared receive queue. */
  private static final List<QueuePairType> PAIRS =
      List.of(QueuePairType.RC, QueuePairType.RC, QueuePairType.UC, QueuePairType.UD);

  private static final int SHARED = 1;

  private final Mlx5dv functions = Providers.mlx5dv();
  private final MethodHandle step;
  private final Random random;
  private final Context context = Device.named("mlx5_0").open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final MemoryRegion region =
      domain.registerMemory(
          Arena.global().allocate(MEMORY, 4096),
          AccessFlag.LOCAL_WRITE,
          AccessFlag.REMOTE_WRITE,
          AccessFlag.REMOTE_READ,
          AccessFlag.REMOTE_ATOMIC);
  private final World inC;
  private final World direct;
  private final Armed armedInC;
  private final Armed armedDirect;
  private final AddressHandle handle;
  private final SendList sends = new SendList(LIST, SGES, INLINE);
  private final ReceiveList receives = new ReceiveList(LIST, SGES);
  private final Map<String, Integer> seen = new TreeMap<>();

  /** The number of receive requests that each receiver has. */
  private final int[] available = new int[PAIRS.size()];

  /** Those of the pairs that can have one. */
  private final SessionPair[] sessions = new SessionPair[PAIRS.size()];

  private final boolean[] failed = new boolean[PAIRS.size()];
  private long requests;
  private long id;

  private Differential(long seed) {
    random = new Random(seed);
    SymbolLookup nic = SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global());
    step =
        Linker.nativeLinker()
            .downcallHandle(
                nic.find("emulated_nic_step").orElseThrow(), FunctionDescriptor.ofVoid());
    inC = new World(false);
    direct = new World(true);
    for (int i = 0; i < PAIRS.size() - 1; i++) {
      sessions[i] =
          new SessionPair(
              inC.near[i], inC.queue, direct.near[i], direct.queue, LIST, region, random);
    }
    armedInC = new Armed(false);
    armedDirect = new Armed(true);
    var choice = inC.near[3].setup().choice();
    handle =
        domain.createAddressHandle(
            AddressVector.global(1, new GlobalRoute(choice.gid(), choice.index())));
  }

  /** The queue pairs of one data path. */
  private final class World {
    final CompletionQueue queue;
    final SharedReceiveQueue shared;
    final QueuePair[] near = new QueuePair[PAIRS.size()];
    final QueuePair[] far = new QueuePair[PAIRS.size()];
    final Completions completions = new Completions(LIST);
    final Map<Integer, String> names = new TreeMap<>();
    final QueueMemory.OfQueuePair[] nearMemory = new QueueMemory.OfQueuePair[PAIRS.size()];
    final QueueMemory.OfQueuePair[] farMemory = new QueueMemory.OfQueuePair[PAIRS.size()];
    final QueueMemory.OfSharedReceiveQueue sharedMemory;

    World(boolean isDirect) {
      var queues = context.completionQueue(1023);
      queue = isDirect ? queues.direct().create() : queues.create();
      var shareds = SharedReceiveQueue.builder(domain, RECEIVES).maxSges(SGES);
      shared = isDirect ? shareds.direct().create() : shareds.create();
      sharedMemory = QueueMemory.sharedReceiveQueue(functions, shared.segment().address());
      for (int i = 0; i < PAIRS.size(); i++) {
        near[i] = builder(i, isDirect).create();
        QueuePairBuilder ofFar = builder(i, isDirect);
        far[i] = i == SHARED ? ofFar.sharedReceiveQueue(shared).create() : ofFar.create();
        nearMemory[i] = QueueMemory.queuePair(functions, near[i].segment().address());
        farMemory[i] = QueueMemory.queuePair(functions, far[i].segment().address());
        names.put(near[i].number(), "near " + i);
        names.put(far[i].number(), "far " + i);
        check(near[i].isDirect() == isDirect && far[i].isDirect() == isDirect, "data path");
        connect(i);
      }
    }

    /** A direct queue pair has a thread domain, and so a register, without a request for it. */
    private QueuePairBuilder builder(int pair, boolean isDirect) {
      ProtectionDomain its =
          isDirect
              ? domain
              : ParentDomain.builder(domain).threadDomain(ThreadDomain.allocate(context)).create();
      return QueuePair.builder(its, PAIRS.get(pair))
          .completions(queue)
          .capacity(
              QueuePairCapacity.of(SENDS)
                  .withReceiveRequests(RECEIVES)
                  .withSendSges(SGES)
                  .withReceiveSges(SGES)
                  .withMaxInlineData(INLINE));
    }

    void connect(int pair) {
      for (QueuePair queuePair : List.of(near[pair], far[pair])) {
        queuePair
            .setup()
            .rnrRetryCount(0)
            .retryCount(0)
            .ackTimeout(AckTimeout.atLeast(Duration.ofNanos(4096)));
        if (PAIRS.get(pair) == QueuePairType.UD) {
          queuePair.setup().queueKey(QUEUE_KEY);
          queuePair.activate();
        } else {
          queuePair
              .setup()
              .access(
                  AccessFlag.LOCAL_WRITE,
                  AccessFlag.REMOTE_WRITE,
                  AccessFlag.REMOTE_READ,
                  AccessFlag.REMOTE_ATOMIC);
          queuePair.connect((queuePair == near[pair] ? far[pair] : near[pair]).localAddress());
        }
      }
    }

    void reset(int pair) {
      near[pair].reset();
      far[pair].reset();
      connect(pair);
    }

    ReceiveQueue receiver(int pair) {
      return pair == SHARED ? shared : far[pair];
    }
  }

  public static void main(String[] arguments) throws Throwable {
    long seed = Long.parseLong(arguments[0]);
    long count = Long.parseLong(arguments[1]);
    Differential differential = new Differential(seed);
    while (differential.requests < count) {
      differential.round();
    }
    System.out.println(
        "seed " + seed + ": " + differential.requests + " requests: " + differential.seen);
    System.exit(0);
  }

  private static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError("libmlx5 and the direct data path differ: " + what);
    }
  }

  private void count(String what) {
    seen.merge(what, 1, Integer::sum);
  }

  private boolean oneIn(int times) {
    return random.nextInt(times) == 0;
  }

  private void round() throws Throwable {
    int pair = random.nextInt(PAIRS.size());
    if (failed[pair] || oneIn(3000)) {
      reset(pair);
    }
    if (oneIn(2000)) {
      race(random.nextInt(2));
    }
    if (oneIn(20)) {
      arm();
    }
    postReceives(pair);
    postSends(pair);
    step.invokeExact();
    while (!oneIn(4) && poll()) {
      // Often all, sometimes some stay for the next round.
    }
  }

  /** A thread posts to full queues, while this one polls: the same completions in both worlds. */
  private void race(int pair) throws Throwable {
    step.invokeExact();
    while (poll()) {
      // What was posted before.
    }
    reset(pair);
    count("races");
    check(raceIn(inC, pair).equals(raceIn(direct, pair)), "order of the completions");
    compareQueues(pair);
  }

  /** Returns the numbers of the queue pairs and the ids in the order of their completions. */
  @SuppressWarnings("ThreadPriorityCheck")
  private List<String> raceIn(World world, int pair) throws Throwable {
    FutureTask<Void> posting = new FutureTask<>(() -> post(world, pair), null);
    Thread.ofPlatform().start(posting);
    List<String> completed = new ArrayList<>();
    while (completed.size() < 2 * RACE) {
      step.invokeExact();
      int count = world.queue.poll(world.completions, LIST);
      for (int i = 0; i < count; i++) {
        check(world.completions.isSuccess(i), "status beside posts");
        String name = world.names.get(world.completions.queuePairNumber(i));
        completed.add(name + ": " + world.completions.id(i));
      }
      check(count > 0 || !posting.isDone() || posting.get() == null, "posts");
      if (count == 0) {
        Thread.yield();
      }
    }
    posting.get();
    completed.sort(Comparator.comparing(name -> name.substring(0, 4))); // Stable.
    return completed;
  }

  @SuppressWarnings("ThreadPriorityCheck") // On a busy machine, to the thread that polls.
  private static void post(World world, int pair) {
    SendList send = new SendList(1, 1);
    ReceiveList receive = new ReceiveList(1, 1);
    int received = 0;
    int sent = 0;
    while (sent < RACE || received < RACE) {
      receive.id(0, received);
      boolean isPosted = received < RACE && world.receiver(pair).post(receive, 0, 1) == 1;
      received += isPosted ? 1 : 0;
      if (sent < RACE && (sent < received || !isPosted)) { // A shared queue may be full already.
        send.send(0).id(sent).signaled();
        int posted = world.near[pair].post(send, 0, 1);
        sent += posted;
        if (posted == 0 && !isPosted) {
          Thread.yield();
        }
      }
    }
  }

  /** Compares what arming writes, after completions and with and without an event since. */
  private void arm() throws Throwable {
    boolean isSolicited = random.nextBoolean();
    int writes = random.nextInt(4);
    long[] written = new long[2];
    for (Armed armed : List.of(armedInC, armedDirect)) {
      for (int i = 0; i < writes; i++) {
        sends.write(0).local(region, 0, 8).remote(region.start(), region.rkey()).signaled();
        check(armed.queuePair.post(sends, 0, 1) == 1, "write posted");
        step.invokeExact();
        check(armed.queue.poll(inC.completions, 1) == 1, "write completed");
      }
      CompletionQueue notified = armed.channel.poll();
      count(notified == null ? "armed without event" : "armed after event");
      if (isSolicited) {
        armed.queue.requestSolicitedNotification();
      } else {
        armed.queue.requestNotification();
      }
      int record = Integer.reverseBytes(Memory.getInt(armed.memory.record() + 4));
      long register = Long.reverseBytes(Memory.getLong(armed.memory.registers() + 0x20));
      check(register >>> 32 == Integer.toUnsignedLong(record), "record and register of arming");
      check((int) register == armed.memory.number(), "number of the queue that is armed");
      written[armed == armedInC ? 0 : 1] = record;
    }
    check(written[0] == written[1], "arming: " + hex((int) written[0]) + hex((int) written[1]));
  }

  /** A queue pair that is connected to itself, and a queue that is armed. */
  private final class Armed {
    final CompletionChannel channel = context.createCompletionChannel();
    final CompletionQueue queue;
    final QueuePair queuePair;
    final QueueMemory.OfCompletionQueue memory;

    Armed(boolean isDirect) {
      CompletionQueue.Builder builder = context.completionQueue(15).channel(channel);
      queue = isDirect ? builder.direct().create() : builder.create();
      queuePair = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
      queuePair.setup().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      queuePair.connect(queuePair.localAddress());
      // libmlx5 does not clean it any more, which only a reset would need.
      memory = QueueMemory.completionQueue(functions, queue.segment().address());
    }
  }

  private void reset(int pair) {
    count("resets");
    inC.reset(pair);
    direct.reset(pair);
    failed[pair] = false;
    available[pair] = pair == SHARED ? available[pair] : 0;
    compareQueues(pair);
  }

  private void postReceives(int pair) {
    int wanted = random.nextInt(LIST / 2);
    for (int i = 0; i < wanted; i++) {
      receives.clear(i);
      receives.id(i, id++);
      int sges = oneIn(50) ? random.nextInt(2) : 1 + random.nextInt(SGES);
      for (int sge = 0; sge < sges; sge++) {
        // libmlx5 writes a segment of length 0 to a shared queue, which the device takes for 2 GB.
        int shortest = pair == SHARED ? 1 : 0;
        int length = oneIn(100) ? shortest + random.nextInt(50) : LONGEST + 40;
        receives.local(i, sge, region, random.nextInt(MEMORY - LONGEST - 40), length);
      }
    }
    int posted = inC.receiver(pair).post(receives, 0, wanted);
    check(posted == direct.receiver(pair).post(receives, 0, wanted), "receives posted");
    available[pair] += posted;
    requests += posted;
    compareQueues(pair);
  }

  private void postSends(int pair) {
    int wanted = oneIn(3) ? 1 : 1 + random.nextInt(oneIn(10) ? LIST : 8);
    boolean bySession = sessions[pair] != null && oneIn(3);
    for (int i = 0; i < wanted; i++) {
      if (bySession) {
        prepare(pair, i);
      } else {
        format(pair, i);
        sends.id(i, id++);
      }
    }
    QueueMemory.OfQueuePair memory = direct.nearMemory[pair];
    long[] before = register(memory);
    int posted;
    if (bySession) {
      sessions[pair].signaled(wanted - 1);
      posted = sessions[pair].inC.post(0, wanted);
      check(posted == sessions[pair].direct.post(0, wanted), "sends posted by a session");
      count("by sessions");
    } else {
      sends.signaled(wanted - 1);
      posted = post(inC, pair, wanted);
      check(posted == post(direct, pair, wanted), "sends posted");
    }
    int written = differences(before, register(memory));
    if (written > 0) {
      count(written == 1 ? "eight bytes" : "copies");
    }
    requests += posted;
    count(PAIRS.get(pair) + " lists");
    if (posted < wanted) {
      count("full queues");
      failed[pair] = posted == 0; // Perhaps none of the outstanding requests is signaled.
    }
    compareQueues(pair);
  }

  private void prepare(int pair, int i) {
    boolean mayReceive = PAIRS.get(pair) != QueuePairType.RC || available[pair] > 0;
    if (sessions[pair].prepare(i, id++, mayReceive)) {
      available[pair]--;
    }
  }

  private int post(World world, int pair, int wanted) {
    if (PAIRS.get(pair) == QueuePairType.UD) {
      for (int i = 0; i < wanted; i++) {
        sends.to(i, handle, world.far[pair].number(), QUEUE_KEY);
      }
    }
    return world.near[pair].post(sends, 0, wanted);
  }

  /** Formats a request that the type of the pair supports. */
  private void format(int pair, int i) {
    QueuePairType type = PAIRS.get(pair);
    boolean mayReceive = type != QueuePairType.RC || available[pair] > 0;
    int kinds =
        switch (type) {
          case RC -> 9;
          case UC -> 6;
          default -> 2;
        };
    int kind = random.nextInt(kinds);
    if ((kind == 4 || kind == 5) && !oneIn(40)) {
      kind = 2; // Invalidations fail here, as there is no window.
    }
    if (!mayReceive && (kind < 2 || kind == 3 || kind == 4)) {
      kind = 2;
    }
    if (kind < 2 || kind == 3 || kind == 4) {
      available[pair]--;
    }
    SendRequest request =
        switch (kind) {
          case 0 -> sends.send(i);
          case 1 -> sends.sendWithImmediate(i, random.nextInt());
          case 2 -> sends.write(i);
          case 3 -> sends.writeWithImmediate(i, random.nextInt());
          case 4 -> sends.sendWithInvalidate(i, random.nextInt());
          case 5 -> sends.localInvalidate(i, random.nextInt());
          case 6 -> sends.read(i);
          case 7 -> sends.compareAndSwap(i, random.nextLong(), random.nextLong());
          default -> sends.fetchAndAdd(i, random.nextLong());
        };
    count(String.valueOf(sends.opcode(i)));
    if (kind == 2 || kind == 3 || kind >= 6) {
      int key = oneIn(2000) ? random.nextInt() : region.rkey();
      request.remote(region.start() + 8L * random.nextInt((MEMORY - 2 * LONGEST) / 8), key);
    }
    if (kind < 4 && oneIn(3)) {
      request.inline(random.nextInt(INLINE + 1));
      count("inline");
    } else if (kind != 5) {
      gather(i, kind >= 7 ? 1 : random.nextInt(SGES + 1), kind >= 7);
    }
    if (random.nextBoolean()) {
      request.signaled();
    }
    if (oneIn(8)) {
      request.solicited();
    }
    if (oneIn(8)) {
      request.fenced();
    }
  }

  private void gather(int i, int count, boolean isAtomic) {
    for (int sge = 0; sge < count; sge++) {
      int length = isAtomic ? 8 : oneIn(6) ? 0 : random.nextInt(LONGEST / SGES);
      long offset = 8L * random.nextInt((MEMORY - LONGEST) / 8);
      if (oneIn(4000)) {
        sends.localUnchecked(i, sge, region.start() + offset, length, random.nextInt());
      } else {
        sends.local(i, sge, region, offset, length);
      }
    }
  }

  /** Polls both queues by sessions, until they are empty, and compares what they return. */
  private void pollBySessions(SessionPair by) {
    while (by.inC.next()) {
      check(by.direct.next(), "number of completions by sessions");
      QueuePairSession c = by.inC;
      QueuePairSession d = by.direct;
      check(c.id() == d.id() && c.isSuccess() == d.isSuccess(), "id by sessions");
      String name = inC.names.get(c.queuePairNumber());
      check(name.equals(direct.names.get(d.queuePairNumber())), "queue pair by sessions");
      check(c.status() == d.status(), "status by sessions");
      count("by sessions " + c.status());
      if (c.isSuccess()) {
        check(c.opcode() == d.opcode() && c.isReceive() == d.isReceive(), "opcode by sessions");
        check(!hasLength(c.opcode()) || c.byteLength() == d.byteLength(), "length by sessions");
      } else {
        check(c.vendorError() == d.vendorError(), "vendor error by sessions");
        failed[name.charAt(name.length() - 1) - '0'] = true;
      }
    }
    check(!by.direct.next(), "number of completions by sessions");
  }

  private static boolean hasLength(CompletionOpcode opcode) {
    return switch (opcode) {
      case SEND, RDMA_WRITE, LOCAL_INV -> false;
      default -> true;
    };
  }

  /** Polls both queues and compares what they return; false if they are empty. */
  private boolean poll() {
    if (oneIn(4)) {
      pollBySessions(sessions[random.nextInt(PAIRS.size() - 1)]);
      return false;
    }
    int limit = 1 + random.nextInt(LIST);
    int count = inC.queue.poll(inC.completions, limit);
    check(count == direct.queue.poll(direct.completions, limit), "number of completions");
    for (int i = 0; i < count; i++) {
      Completions c = inC.completions;
      Completions d = direct.completions;
      check(c.id(i) == d.id(i), "id");
      String name = inC.names.get(c.queuePairNumber(i));
      check(name.equals(direct.names.get(d.queuePairNumber(i))), "queue pair");
      check(c.statusCode(i) == d.statusCode(i), "status");
      count("completions " + c.status(i));
      if (c.isSuccess(i)) {
        compareFields(i);
      } else {
        check(c.vendorError(i) == d.vendorError(i), "vendor error");
        failed[name.charAt(name.length() - 1) - '0'] = true;
      }
    }
    return count > 0;
  }

  private void compareFields(int i) {
    Completions c = inC.completions;
    Completions d = direct.completions;
    check(c.opcodeCode(i) == d.opcodeCode(i), "opcode");
    check(c.flags(i).equals(d.flags(i)), "flags");
    check(!hasLength(c.opcode(i)) || c.byteLength(i) == d.byteLength(i), "length");
    if (!c.isReceive(i)) {
      return;
    }
    check(c.flags(i).isEmpty() || c.immediate(i) == d.immediate(i), "immediate data");
    check(
        inC.names
            .getOrDefault(c.sourceQueuePair(i), "none")
            .equals(direct.names.getOrDefault(d.sourceQueuePair(i), "none")),
        "source");
    check(c.pkeyIndex(i) == d.pkeyIndex(i), "P_Key index");
    check(c.sourceLid(i) == d.sourceLid(i), "LID");
    check(c.serviceLevel(i) == d.serviceLevel(i), "service level");
    check(c.destinationPathBits(i) == d.destinationPathBits(i), "path bits");
  }

  /** Compares the queues of a pair in memory, and the doorbells. */
  private void compareQueues(int pair) {
    QueueMemory.OfQueuePair c = inC.nearMemory[pair];
    QueueMemory.OfQueuePair d = direct.nearMemory[pair];
    compare(pair, c.sends(), d.sends(), 64L * c.sendBlocks(), "send queue");
    compare(pair, c.record(), d.record(), 8, "doorbell records");
    check(c.registerSize() == d.registerSize(), "size of the registers");
    compare(pair, c.register(), d.register(), 2L * c.registerSize(), "register");
    QueueMemory.OfQueuePair cFar = inC.farMemory[pair];
    QueueMemory.OfQueuePair dFar = direct.farMemory[pair];
    if (pair == SHARED) {
      long size = (long) inC.sharedMemory.stride() * (inC.sharedMemory.tail() + 1);
      compare(
          pair, inC.sharedMemory.entries(), direct.sharedMemory.entries(), size, "shared queue");
      compare(pair, inC.sharedMemory.record(), direct.sharedMemory.record(), 4, "shared record");
    } else {
      long size = (long) cFar.receiveStride() * cFar.receiveEntries();
      compare(pair, cFar.receives(), dFar.receives(), size, "receive queue");
      compare(pair, cFar.record(), dFar.record(), 8, "doorbell records");
    }
  }

  /** Returns the contents of both halves of a register. */
  private static long[] register(QueueMemory.OfQueuePair memory) {
    long[] contents = new long[2 * memory.registerSize() / Long.BYTES];
    for (int i = 0; i < contents.length; i++) {
      contents[i] = Memory.getLong(memory.register() + (long) i * Long.BYTES);
    }
    return contents;
  }

  private static int differences(long[] before, long[] after) {
    int count = 0;
    for (int i = 0; i < before.length; i++) {
      count += before[i] == after[i] ? 0 : 1;
    }
    return count;
  }

  private void compare(int pair, long c, long d, long size, String what) {
    for (long at = 0; at < size; at += Integer.BYTES) {
      compareNumber(pair, c + at, d + at, what + " at " + at);
    }
  }

  /**
   * Four bytes may differ if they contain the number of a queue pair, each that of its own data
   * path; bytes before the number may be those of another entry, as entries have gaps.
   */
  private void compareNumber(int pair, long c, long d, String what) {
    int mine = Integer.reverseBytes(Memory.getInt(c));
    int other = Integer.reverseBytes(Memory.getInt(d));
    boolean isAllowed =
        mine == other
            || isNumber(mine, other, inC.near[pair].number(), direct.near[pair].number(), 8)
            || isNumber(mine, other, inC.far[pair].number(), direct.far[pair].number(), 0);
    check(isAllowed, PAIRS.get(pair) + " " + what + ": " + hex(mine) + ", " + hex(other));
  }

  private static boolean isNumber(int mine, int other, int number, int otherNumber, int shift) {
    return (mine ^ other) == (number ^ otherNumber) << shift
        && (mine >> shift & 0xff) == (number & 0xff);
  }

  private static String hex(int value) {
    return Integer.toHexString(value);
  }
}
