package dev.verbena.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.sun.management.ThreadMXBean;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;

/**
 * One row of the comparison of Java and C on a vendor's provider, on the emulated NIC: {@code
 * Provider ROW BATCH THREADS PATH}, where the path of Java is {@code c} or {@code direct}. Java and
 * C take turns in one JVM, on the same queues or on equal ones, in samples of {@value #REQUESTS}
 * requests; the NIC executes requests between the samples, and its time is not measured.
 *
 * <p>It prints the arguments, the median nanoseconds of one round in Java and in C, each before and
 * after the NIC moves, and the bytes that a round in Java allocates. For the row {@code cold} it
 * prints the mean of the first rounds, without any before them.
 */
public final class Provider {
  /**
   * The number of requests of one sample, so small that the requests and their completions fit in
   * the cache.
   */
  static final int REQUESTS = 256;

  private static final int BUFFER_SIZE = 64;
  private static final int BUFFERS = 64;
  private static final int SEND = 2;
  private static final int RDMA_WRITE = 0;
  private static final int SIGNALED = 2;
  private static final int INLINE = 8;

  private static final SymbolLookup LOOPS =
      SymbolLookup.libraryLookup(System.getProperty("provider.loops"), Arena.global());
  private static final SymbolLookup NIC =
      SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global());

  private static final MethodHandle LISTS =
      Linker.nativeLinker()
          .downcallHandle(
              LOOPS.find("lists_new").orElseThrow(),
              FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle STEP =
      Linker.nativeLinker()
          .downcallHandle(NIC.find("emulated_nic_step").orElseThrow(), FunctionDescriptor.ofVoid());
  private static final MethodHandle POST_SENDS = loop("post_sends", ADDRESS, ADDRESS);
  private static final MethodHandle POST_INLINE = loop("post_inline", ADDRESS, ADDRESS);
  private static final MethodHandle POST_WR = loop("post_wr", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_ALL = loop("poll_all", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_EMPTY = loop("poll_empty", ADDRESS, ADDRESS);
  private static final MethodHandle POLL_CURSOR = loop("poll_cursor", ADDRESS, ADDRESS);
  private static final MethodHandle REPOST = loop("repost", ADDRESS, ADDRESS, ADDRESS);
  private static final MethodHandle REPOST_SHARED =
      loop("repost_shared", ADDRESS, ADDRESS, ADDRESS);

  private static MethodHandle loop(String name, MemoryLayout... arguments) {
    FunctionDescriptor descriptor =
        FunctionDescriptor.of(JAVA_LONG, arguments).appendArgumentLayouts(JAVA_LONG);
    return Linker.nativeLinker().downcallHandle(LOOPS.find(name).orElseThrow(), descriptor);
  }

  /** A row: measured steps in Java and in C, between steps that are not measured. */
  private abstract static class Row {
    /** The queues that Java posts to and polls. */
    final Queues queues;

    /** The queues of C: the same, unless those of Java are direct, which libmlx5 must not use. */
    final Queues inC;

    final int batch;
    final int rounds;
    long id;

    Row(Queues queues, Queues inC, int batch) {
      this.queues = queues;
      this.inC = inC;
      this.batch = batch;
      this.rounds = REQUESTS / batch;
    }

    /** Prepares the first step. */
    void prepare() throws Throwable {}

    void prepareC() throws Throwable {
      prepare();
    }

    abstract void firstJava();

    abstract void firstC() throws Throwable;

    /** The second step in Java, after the NIC has executed the requests. */
    void secondJava() {
      queues.pollAll(batch, rounds);
    }

    void secondC() throws Throwable {
      c((long) POLL_ALL.invokeExact(inC.cq, inC.lists, (long) rounds));
    }

    /** Finishes a sample. */
    void finish() throws Throwable {}

    void finishC() throws Throwable {
      finish();
    }

    final long offset() {
      return (id & (BUFFERS - 1)) * BUFFER_SIZE;
    }
  }

  /** Two connected queue pairs on one device, the first of which is measured. */
  private static final class Queues {
    final Arena arena = Arena.ofShared();
    final Context context = Device.named("mlx5_0").open();
    final ProtectionDomain domain = context.allocateProtectionDomain();
    final MemoryRegion region =
        domain.registerMemory(
            arena.allocate((long) (BUFFERS + 1) * BUFFER_SIZE, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE);
    final Completions completions;
    final CompletionQueue queue;
    final ExtendedCompletionQueue extended;
    final CompletionQueue peerQueue;
    final SharedReceiveQueue shared;
    final QueuePair pair;
    final QueuePair peer;
    final MemorySegment cq;
    final MemorySegment qp;
    final MemorySegment lists;

    Queues(String row, int batch, boolean isDirect) throws Throwable {
      completions = new Completions(batch);
      boolean cursor = row.equals("cursor");
      peerQueue = context.completionQueue(2 * REQUESTS).withoutCapacityWarning().create();
      queue = cursor ? null : queue(isDirect);
      extended =
          cursor
              ? context.completionQueue(2 * REQUESTS).createExtended(CompletionField.BYTE_LEN)
              : null;
      shared = row.equals("shared") ? shared(isDirect) : null;
      QueuePairCapacity capacity =
          QueuePairCapacity.of(2 * REQUESTS).withSendSges(4).withMaxInlineData(BUFFER_SIZE);
      QueuePairBuilder builder = domain.queuePair(QueuePairType.RC).capacity(capacity);
      builder = cursor ? builder.completions(extended) : builder.completions(queue);
      if (shared != null) {
        builder.sharedReceiveQueue(shared);
      }
      if (row.equals("wr")) {
        builder.sendOperations(SendOperation.RDMA_WRITE);
      }
      pair = builder.create();
      peer = domain.queuePair(QueuePairType.RC).capacity(capacity).completions(peerQueue).create();
      pair.connect(peer.localAddress());
      peer.connect(pair.localAddress());
      cq = cursor ? extended.segment() : queue.segment();
      qp = pair.segment();
      lists =
          lists(
              batch,
              row.equals("four") ? 4 : 1,
              RDMA_WRITE,
              row.equals("inline") ? SIGNALED | INLINE : SIGNALED);
    }

    private CompletionQueue queue(boolean isDirect) {
      CompletionQueue.Builder builder =
          context.completionQueue(2 * REQUESTS).withoutCapacityWarning();
      return isDirect ? builder.direct().create() : builder.create();
    }

    private SharedReceiveQueue shared(boolean isDirect) {
      SharedReceiveQueue.Builder builder = domain.sharedReceiveQueue(2 * REQUESTS);
      return isDirect ? builder.direct().create() : builder.create();
    }

    MemorySegment lists(int batch, int entries, int opcode, int flags) throws Throwable {
      return (MemorySegment) LISTS.invokeExact(region.segment(), batch, entries, opcode, flags);
    }

    void pollAll(int batch, int rounds) {
      long sum = 0;
      for (int round = 0; round < rounds; round++) {
        sum += Ring.pollAll(queue, completions, batch);
      }
      sink = sum;
    }
  }

  static volatile long sink;

  private static void c(long result) {
    if (result == -1) {
      throw new IllegalStateException("the C loop failed");
    }
    sink = result;
  }

  private static void all(int posted, int batch) {
    if (posted != batch) {
      throw new IllegalStateException(posted + " of " + batch + " posted");
    }
  }

  private static final class Send extends Row {
    private final SendList list;
    private final int entries;

    Send(Queues queues, Queues inC, int batch, int entries) {
      super(queues, inC, batch);
      this.entries = entries;
      list = new SendList(batch, entries);
      for (int i = 0; i < batch; i++) {
        list.write(i).remote(queues.region.start(), queues.region.rkey()).signaled();
        for (int entry = 0; entry < entries; entry++) {
          list.local(i, entry, queues.region, 0, BUFFER_SIZE);
        }
      }
    }

    @Override
    void firstJava() {
      for (int round = 0; round < rounds; round++) {
        if (entries == 1) {
          for (int i = 0; i < batch; i++) {
            list.id(i, id++);
            list.local(i, queues.region, offset(), BUFFER_SIZE);
          }
        } else {
          for (int i = 0; i < batch; i++) {
            list.id(i, id++);
            for (int entry = 0; entry < 4; entry++) {
              list.local(i, entry, queues.region, offset(), BUFFER_SIZE);
            }
          }
        }
        all(queues.pair.post(list), batch);
      }
    }

    @Override
    void firstC() throws Throwable {
      c((long) POST_SENDS.invokeExact(inC.qp, inC.lists, (long) rounds));
    }
  }

  private static final class Inline extends Row {
    private final SendList list;
    private final MemorySegment[] data;

    Inline(Queues queues, Queues inC, int batch) {
      super(queues, inC, batch);
      list = new SendList(batch, 1, BUFFER_SIZE);
      data = new MemorySegment[batch];
      for (int i = 0; i < batch; i++) {
        list.write(i)
            .inline(BUFFER_SIZE)
            .remote(queues.region.start(), queues.region.rkey())
            .signaled();
        data[i] = list.inlineData(i);
      }
    }

    @Override
    void firstJava() {
      for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < batch; i++) {
          list.id(i, id++);
          data[i].set(ValueLayout.JAVA_LONG, 0, id);
        }
        all(queues.pair.post(list), batch);
      }
    }

    @Override
    void firstC() throws Throwable {
      c((long) POST_INLINE.invokeExact(inC.qp, inC.lists, (long) rounds));
    }
  }

  private static final class Wr extends Row {
    Wr(Queues queues, Queues inC, int batch) {
      super(queues, inC, batch);
    }

    @Override
    void firstJava() {
      MemoryRegion region = queues.region;
      for (int round = 0; round < rounds; round++) {
        try (Posting posting = queues.pair.startPosting()) {
          for (int i = 0; i < batch; i++) {
            posting
                .write(region.start(), region.rkey())
                .id(id++)
                .signaled()
                .local(region, offset(), BUFFER_SIZE);
          }
          all(posting.complete(), batch);
        }
      }
    }

    @Override
    void firstC() throws Throwable {
      c((long) POST_WR.invokeExact(inC.qp, inC.lists, (long) rounds));
    }
  }

  private static final class Empty extends Row {
    Empty(Queues queues, Queues inC, int batch) {
      super(queues, inC, batch);
    }

    @Override
    void firstJava() {
      long sum = 0;
      for (int round = 0; round < rounds; round++) {
        sum += queues.queue.poll(queues.completions);
      }
      sink = sum;
    }

    @Override
    void firstC() throws Throwable {
      c((long) POLL_EMPTY.invokeExact(inC.cq, inC.lists, (long) rounds));
    }

    @Override
    void secondJava() {}

    @Override
    void secondC() {}
  }

  private static final class Cursor extends Row {
    Cursor(Queues queues, Queues inC, int batch) {
      super(queues, inC, batch);
    }

    @Override
    void prepare() throws Throwable {
      c((long) POST_SENDS.invokeExact(inC.qp, inC.lists, (long) rounds));
    }

    @Override
    void firstJava() {}

    @Override
    void firstC() {}

    @Override
    void secondJava() {
      long sum = 0;
      for (int round = 0; round < rounds; round++) {
        try (CompletionCursor cursor = queues.extended.startPolling()) {
          for (int i = 0; i < batch && cursor.next(); i++) {
            if (!cursor.isSuccess()) {
              throw new IllegalStateException("a failed completion");
            }
            sum += cursor.id() + cursor.byteLength();
          }
        }
      }
      sink = sum;
    }

    @Override
    void secondC() throws Throwable {
      c((long) POLL_CURSOR.invokeExact(inC.cq, inC.lists, (long) rounds));
    }
  }

  /** Polls and reposts receive requests; a peer in C sends between the samples. */
  private static final class Receive extends Row {
    private final ReceiveList list;
    private final boolean shared;
    private final MemorySegment peerLists;
    private final MemorySegment peerListsInC;

    Receive(Queues queues, Queues inC, int batch, boolean shared) throws Throwable {
      super(queues, inC, batch);
      this.shared = shared;
      list = new ReceiveList(batch, 1);
      for (int i = 0; i < batch; i++) {
        list.local(i, queues.region, 0, BUFFER_SIZE);
      }
      peerLists = queues.lists(batch, 1, SEND, SIGNALED);
      peerListsInC = inC.lists(batch, 1, SEND, SIGNALED);
      repostC(MemorySegment.NULL);
      if (queues != inC) {
        for (int round = 0; round < rounds; round++) {
          repostJava();
        }
      }
    }

    private void repostJava() {
      for (int i = 0; i < batch; i++) {
        list.id(i, id++);
        list.local(i, queues.region, offset(), BUFFER_SIZE);
      }
      all(shared ? queues.shared.post(list) : queues.pair.post(list), batch);
    }

    private void repostC(MemorySegment cq) throws Throwable {
      c(
          shared
              ? (long) REPOST_SHARED.invokeExact(inC.shared.segment(), cq, inC.lists, (long) rounds)
              : (long) REPOST.invokeExact(inC.qp, cq, inC.lists, (long) rounds));
    }

    @Override
    void prepare() throws Throwable {
      c((long) POST_SENDS.invokeExact(queues.peer.segment(), peerLists, (long) rounds));
    }

    @Override
    void prepareC() throws Throwable {
      c((long) POST_SENDS.invokeExact(inC.peer.segment(), peerListsInC, (long) rounds));
    }

    @Override
    void firstJava() {}

    @Override
    void firstC() {}

    @Override
    void secondJava() {
      long sum = 0;
      for (int round = 0; round < rounds; round++) {
        sum += Ring.pollAll(queues.queue, queues.completions, batch);
        repostJava();
      }
      sink = sum;
    }

    @Override
    void secondC() throws Throwable {
      repostC(inC.cq);
    }

    @Override
    void finish() throws Throwable {
      c((long) POLL_ALL.invokeExact(queues.peerQueue.segment(), peerLists, (long) rounds));
    }

    @Override
    void finishC() throws Throwable {
      c((long) POLL_ALL.invokeExact(inC.peerQueue.segment(), peerListsInC, (long) rounds));
    }
  }

  private static Row row(String name, int batch, boolean isDirect) throws Throwable {
    Queues inC = new Queues(name, batch, false);
    Queues queues = isDirect ? new Queues(name, batch, true) : inC;
    return switch (name) {
      case "send", "cold" -> new Send(queues, inC, batch, 1);
      case "four" -> new Send(queues, inC, batch, 4);
      case "inline" -> new Inline(queues, inC, batch);
      case "wr" -> new Wr(queues, inC, batch);
      case "cursor" -> new Cursor(queues, inC, batch);
      case "empty" -> new Empty(queues, inC, batch);
      case "receive" -> new Receive(queues, inC, batch, false);
      case "shared" -> new Receive(queues, inC, batch, true);
      default -> throw new IllegalArgumentException("no row " + name);
    };
  }

  /** The samples of one row: nanoseconds of the two steps in Java and C, and allocated bytes. */
  private static final class Samples {
    final Row row;
    final long[][] times = new long[4][SAMPLES];
    long bytes;

    Samples(Row row) {
      this.row = row;
    }

    void run(int sample) throws Throwable {
      long before = MEMORY.getCurrentThreadAllocatedBytes();
      row.prepare();
      long allocatedAround = MEMORY.getCurrentThreadAllocatedBytes() - before;
      before += allocatedAround;
      long start = System.nanoTime();
      row.firstJava();
      times[0][sample] = System.nanoTime() - start;
      bytes += MEMORY.getCurrentThreadAllocatedBytes() - before;
      STEP.invokeExact();
      before = MEMORY.getCurrentThreadAllocatedBytes();
      start = System.nanoTime();
      row.secondJava();
      times[1][sample] = System.nanoTime() - start;
      bytes += MEMORY.getCurrentThreadAllocatedBytes() - before;
      row.finish();
      row.prepareC();
      start = System.nanoTime();
      row.firstC();
      times[2][sample] = System.nanoTime() - start;
      STEP.invokeExact();
      start = System.nanoTime();
      row.secondC();
      times[3][sample] = System.nanoTime() - start;
      row.finishC();
    }

    void run() throws Throwable {
      bytes = 0;
      for (int i = 0; i < SAMPLES; i++) {
        run(i);
      }
    }

    /** Runs the same operations on another core. */
    void runForEver() {
      try {
        for (; ; ) {
          run();
        }
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }

    /** Runs the first samples, in code that is interpreted or compiled by C1. */
    void runCold() throws Throwable {
      for (int i = 0; i < COLD_SAMPLES; i++) {
        run(i);
      }
    }

    double median(int step) {
      long[] sorted = times[step].clone();
      Arrays.sort(sorted);
      return (double) sorted[SAMPLES / 2] / row.rounds;
    }

    double coldMean(int step) {
      return Arrays.stream(times[step], 0, COLD_SAMPLES).average().orElseThrow() / row.rounds;
    }
  }

  private static final ThreadMXBean MEMORY = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final int SAMPLES = 2000;

  /** At a batch of 1, the first thousand rounds. */
  private static final int COLD_SAMPLES = 4;

  private static final int WARM_UPS = 6;

  private Provider() {}

  /** Measures one row. */
  public static void main(String[] args) throws Throwable {
    String name = args[0];
    int batch = Integer.parseInt(args[1]);
    int threads = Integer.parseInt(args[2]);
    boolean isDirect = args[3].equals("direct");
    for (int i = 1; i < threads; i++) {
      Samples other = new Samples(row(name, batch, isDirect));
      Thread.ofPlatform().daemon().start(() -> other.runForEver());
    }
    Samples samples = new Samples(row(name, batch, isDirect));
    boolean isCold = name.equals("cold");
    if (isCold) {
      samples.runCold();
    } else {
      for (int round = 0; round <= WARM_UPS; round++) {
        samples.run();
      }
    }
    double[] nanos = new double[4];
    for (int step = 0; step < nanos.length; step++) {
      nanos[step] = isCold ? samples.coldMean(step) : samples.median(step);
    }
    System.out.printf(
        Locale.ROOT,
        "%s%s %d %d %.1f %.1f %.1f %.1f %.2f%n",
        isDirect ? "direct-" : "",
        name,
        batch,
        threads,
        nanos[0],
        nanos[1],
        nanos[2],
        nanos[3],
        (double) samples.bytes / (isCold ? COLD_SAMPLES : SAMPLES) / samples.row.rounds);
    System.exit(0);
  }
}
