package dev.verbena.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.efa.EfaDevice;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * SRD in Java beside C, on the emulated EFA: {@code Efa send|write BATCH}. Java and C take turns in
 * one JVM, on the same queue pair, in samples of {@value #REQUESTS} requests; the EFA executes them
 * between posting and polling, and its time is not measured.
 *
 * <p>It prints the arguments and the median nanoseconds of one round of a batch, posting and
 * polling, in Java and in C.
 */
public final class Efa {
  static final int REQUESTS = 256;

  private static final int SAMPLES = 4000;
  private static final int WARM_UP = 4000;
  private static final int BUFFER_SIZE = 64;
  private static final int BUFFERS = 64;

  private static final SymbolLookup LOOPS =
      SymbolLookup.libraryLookup(System.getProperty("efa.loops"), Arena.global());
  private static final SymbolLookup NIC =
      SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global());
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle STEP =
      LINKER.downcallHandle(
          NIC.find("emulated_nic_step").orElseThrow(), FunctionDescriptor.ofVoid());
  private static final MethodHandle TARGET =
      LINKER.downcallHandle(
          LOOPS.find("target_new").orElseThrow(),
          FunctionDescriptor.of(
              ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle POST =
      LINKER.downcallHandle(
          LOOPS.find("post").orElseThrow(),
          FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle POLL =
      LINKER.downcallHandle(
          LOOPS.find("poll_all").orElseThrow(),
          FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG));

  static volatile long sink;

  private final boolean write;
  private final int batch;
  private final int rounds;
  private final Arena arena = Arena.ofShared();
  private final CompletionQueue queue;
  private final CompletionQueue peerQueue;
  private final QueuePair pair;
  private final QueuePair peer;
  private final MemoryRegion region;
  private final SendList list;
  private final Completions completions;
  private final Completions peerCompletions = new Completions(REQUESTS);
  private final ReceiveList receives = new ReceiveList(REQUESTS, 1);
  private final MemorySegment target;
  private final MemorySegment cq;
  private long id;

  private Efa(boolean write, int batch) throws Throwable {
    this.write = write;
    this.batch = batch;
    this.rounds = REQUESTS / batch;
    Context context = Device.list().getFirst().open();
    ProtectionDomain domain = context.allocateProtectionDomain();
    EfaDevice efa = EfaDevice.of(context);
    QueuePairCapacity capacity = QueuePairCapacity.of(REQUESTS).withSendSges(1).withReceiveSges(1);
    queue = context.createCompletionQueue(2 * REQUESTS);
    peerQueue = context.createCompletionQueue(2 * REQUESTS);
    pair = efa.queuePair(domain).completions(queue).capacity(capacity).create();
    peer = efa.queuePair(domain).completions(peerQueue).capacity(capacity).create();
    pair.activate();
    peer.activate();
    region =
        domain.registerMemory(
            arena.allocate((long) (BUFFERS + 1) * BUFFER_SIZE, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE);
    AddressHandle handle =
        domain.createAddressHandle(
            AddressVector.global(1, new GlobalRoute(peer.localAddress().gid(), 0)));
    int key = peer.localAddress().queueKey();
    list = new SendList(batch, 1);
    for (int i = 0; i < batch; i++) {
      (write ? list.write(i).remote(region.start(), region.rkey()) : list.send(i))
          .local(region, 0, BUFFER_SIZE)
          .to(handle, peer.number(), key);
    }
    for (int i = 0; i < receives.size(); i++) {
      receives.local(i, region, 0, BUFFER_SIZE);
    }
    completions = new Completions(batch);
    cq = queue.segment();
    target =
        (MemorySegment)
            TARGET.invokeExact(
                pair.segment(),
                region.segment(),
                handle.segment(),
                region.start(),
                region.rkey(),
                peer.number(),
                key);
  }

  private void postJava() {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < batch; i++) {
        list.id(i, id++);
        list.local(i, region, (id & (BUFFERS - 1)) * BUFFER_SIZE, BUFFER_SIZE);
      }
      if (pair.post(list) != batch) {
        throw new IllegalStateException("the queue is full");
      }
    }
  }

  private void pollJava() {
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      sum += Ring.pollAll(queue, completions, batch);
    }
    sink = sum;
  }

  private static void c(long result) {
    if (result == -1) {
      throw new IllegalStateException("the C loop failed");
    }
    sink = result;
  }

  /** Before a sample: the receives that its sends need. */
  private void prepare() {
    if (!write) {
      while (peerQueue.poll(peerCompletions) > 0) {
        // Those of the sample before.
      }
      if (peer.post(receives) != REQUESTS) {
        throw new IllegalStateException("the receive queue is full");
      }
    }
  }

  private double sampleJava() throws Throwable {
    prepare();
    long start = System.nanoTime();
    postJava();
    long posted = System.nanoTime();
    STEP.invokeExact();
    long stepped = System.nanoTime();
    pollJava();
    return (double) (System.nanoTime() - stepped + posted - start) / rounds;
  }

  private double sampleC() throws Throwable {
    prepare();
    long start = System.nanoTime();
    c((long) POST.invokeExact(target, write ? 1L : 0L, (long) batch, (long) rounds));
    long posted = System.nanoTime();
    STEP.invokeExact();
    long stepped = System.nanoTime();
    c((long) POLL.invokeExact(cq, (long) batch, (long) rounds));
    return (double) (System.nanoTime() - stepped + posted - start) / rounds;
  }

  private void measure() throws Throwable {
    double[] java = new double[SAMPLES];
    double[] c = new double[SAMPLES];
    for (int i = -WARM_UP; i < SAMPLES; i++) {
      double first = sampleJava();
      double second = sampleC();
      if (i >= 0) {
        java[i] = first;
        c[i] = second;
      }
    }
    Arrays.sort(java);
    Arrays.sort(c);
    double inJava = java[SAMPLES / 2];
    double inC = c[SAMPLES / 2];
    System.out.printf(
        "| SRD %s, batch %d | %.1f | %.1f | %.2f |%n",
        write ? "RDMA write" : "send", batch, inJava, inC, inJava / inC);
  }

  /**
   * Measures.
   *
   * @param args {@code send} or {@code write}, and the batch
   */
  public static void main(String[] args) throws Throwable {
    new Efa(args[0].equals("write"), Integer.parseInt(args[1])).measure();
    System.exit(0);
  }
}
