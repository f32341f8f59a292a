package dev.verbena.disni;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaVerbs;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostSend;
import com.ibm.disni.verbs.SVCPostSend.SendWRMod;
import com.ibm.disni.verbs.impl.NatIbvCQ;
import com.ibm.disni.verbs.impl.NatIbvQP;
import com.ibm.disni.verbs.impl.RdmaProviderNat;
import com.sun.management.ThreadMXBean;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;

/**
 * The cost of DiSNI's stateful calls on the emulated NIC, over Verbena or over DiSNI's JNI library:
 * {@code Cost verbena|jni BATCH}, started by {@code bridges/disni/cost}. Both use the same kind of
 * queues, which Verbena creates: the emulated NIC has no RDMA CM.
 *
 * <p>It prints the median nanoseconds and the allocated bytes of a post of the batch, of a poll of
 * the batch, and of an empty poll.
 */
final class Cost {
  private static final int REQUESTS = 256;
  private static final int SAMPLES = 40_000;
  private static final int WARM = 20_000;
  private static final int SIZE = 64;

  private final MethodHandle step =
      Linker.nativeLinker()
          .downcallHandle(
              SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global())
                  .find("emulated_nic_step")
                  .orElseThrow(),
              FunctionDescriptor.ofVoid());
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final int batch;
  private final MemoryRegion region;
  private final SVCPostSend post;
  private final SendWRMod[] mods;
  private final SVCPollCq poll;
  private final IbvWC[] completions;
  private long id;
  private long sum;

  private Cost(boolean bridge, int batch) throws Exception {
    this.batch = batch;
    Context context = Device.named("mlx5_0").open();
    ProtectionDomain domain = context.allocateProtectionDomain();
    region =
        domain.registerMemory(
            Arena.global().allocate((long) REQUESTS * SIZE, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE);
    CompletionQueue queue = context.createCompletionQueue(2 * REQUESTS);
    QueuePair pair = pair(domain, queue);
    QueuePair peer = pair(domain, context.createCompletionQueue(2 * REQUESTS));
    pair.connect(peer.localAddress());
    peer.connect(pair.localAddress());
    completions = new IbvWC[batch];
    Arrays.setAll(completions, _ -> new IbvWC());
    if (bridge) {
      BridgePd pd = new BridgePd(BridgeCm.context(context), domain);
      BridgeCq cq = new BridgeCq(pd.getContext(), null, queue);
      BridgeVerbs verbs = new BridgeVerbs();
      post = verbs.postSend(new BridgeQp(pair, pd, cq, cq), requests(), null);
      poll = verbs.pollCQ(cq, completions, batch);
    } else {
      RdmaProviderNat nat = new RdmaProviderNat();
      Field field = RdmaProviderNat.class.getDeclaredField("nativeDispatcher");
      field.setAccessible(true);
      Constructor<?> natPair = NatIbvQP.class.getConstructors()[0];
      RdmaVerbs verbs = nat.openVerbs();
      post =
          verbs.postSend(
              (NatIbvQP) natPair.newInstance(pair.segment().address(), field.get(nat)),
              requests(),
              null);
      poll =
          verbs.pollCQ(new NatIbvCQ(queue.segment().address(), null, null, 0), completions, batch);
    }
    mods = new SendWRMod[batch];
    for (int i = 0; i < batch; i++) {
      mods[i] = post.getWrMod(i);
    }
  }

  private static QueuePair pair(ProtectionDomain domain, CompletionQueue queue) {
    return QueuePair.builder(domain, QueuePairType.RC)
        .capacity(QueuePairCapacity.of(2 * REQUESTS))
        .completions(queue)
        .create();
  }

  private List<IbvSendWR> requests() {
    List<IbvSendWR> requests = new ArrayList<>();
    for (int i = 0; i < batch; i++) {
      IbvSge sge = new IbvSge();
      sge.setAddr(region.start());
      sge.setLength(SIZE);
      sge.setLkey(region.lkey());
      IbvSendWR request = new IbvSendWR();
      request.setSg_list(new LinkedList<>(List.of(sge)));
      request.setOpcode(IbvSendWR.IBV_WR_RDMA_WRITE);
      request.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
      request.getRdma().setRemote_addr(region.start());
      request.getRdma().setRkey(region.rkey());
      requests.add(request);
    }
    return requests;
  }

  /** Patches the id and the address of each request, as programs do, and posts them. */
  private void postAll() throws IOException {
    for (int round = 0; round < REQUESTS / batch; round++) {
      for (SendWRMod mod : mods) {
        mod.setWr_id(id++);
        mod.getSgeMod(0).setAddr(region.start() + (id & (REQUESTS - 1)) * SIZE);
      }
      post.execute();
    }
  }

  private void pollAll() throws IOException {
    for (int done = 0; done < REQUESTS; ) {
      int n = poll.execute().getPolls();
      for (int i = 0; i < n; i++) {
        if (completions[i].getStatus() != 0) {
          throw new IllegalStateException("status " + completions[i].getStatus());
        }
        sum += completions[i].getWr_id() + completions[i].getByte_len();
      }
      done += n;
    }
  }

  private void pollEmpty() throws IOException {
    for (int i = 0; i < REQUESTS / batch; i++) {
      sum += poll.execute().getPolls();
    }
  }

  private interface Part {
    void run() throws IOException;
  }

  /** Measures one part of each sample. */
  private final class Meter {
    private final double[] nanos = new double[SAMPLES];
    private long bytes;

    void run(int sample, Part part) throws IOException {
      long before = threads.getCurrentThreadAllocatedBytes();
      long start = System.nanoTime();
      part.run();
      long time = System.nanoTime() - start;
      if (sample >= WARM) {
        nanos[sample] = (double) time * batch / REQUESTS;
        bytes += threads.getCurrentThreadAllocatedBytes() - before - own();
      }
    }

    /** What the query of the allocated bytes allocates itself. */
    private long own() {
      long before = threads.getCurrentThreadAllocatedBytes();
      return threads.getCurrentThreadAllocatedBytes() - before;
    }

    String result() {
      double[] measured = Arrays.copyOfRange(nanos, WARM, SAMPLES);
      Arrays.sort(measured);
      double rounds = (double) REQUESTS / batch * measured.length;
      return String.format(Locale.ROOT, "%.1f %.4f", measured[measured.length / 2], bytes / rounds);
    }
  }

  private void measure(String name) throws Throwable {
    Meter posts = new Meter();
    Meter polls = new Meter();
    Meter empty = new Meter();
    for (int i = 0; i < SAMPLES; i++) {
      posts.run(i, this::postAll);
      step.invokeExact();
      polls.run(i, this::pollAll);
      empty.run(i, this::pollEmpty);
    }
    System.out.println(
        name
            + " "
            + batch
            + " "
            + posts.result()
            + " "
            + polls.result()
            + " "
            + empty.result()
            + (sum == 0 ? " nothing" : ""));
  }

  public static void main(String[] args) throws Throwable {
    new Cost(args[0].equals("verbena"), Integer.parseInt(args[1])).measure(args[0]);
  }
}
