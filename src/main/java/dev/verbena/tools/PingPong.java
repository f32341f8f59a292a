package dev.verbena.tools;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressVector;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.GlobalRoute;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.Mtu;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAddress;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Messages back and forth, with either end maybe rdma-core's ibv_rc_pingpong or ibv_uc_pingpong.
 */
@Command(
    name = "pingpong",
    header = "Messages back and forth; the other end may be ibv_rc_, ibv_uc_ or ibv_ud_pingpong.",
    description = "Without HOST: start a server and wait for connection.")
final class PingPong implements Callable<Integer> {
  private static final int RECEIVE = 1;
  private static final int SEND = 2;
  private static final byte[] DONE = {'d', 'o', 'n', 'e', 0};

  /** What stands before each datagram that is received. */
  private static final int ROUTING_HEADER = 40;

  private static final int QUEUE_KEY = 0x11111111;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOptions options;

  @ArgGroup private Service service = new Service();

  /** Which kind of queue pair. */
  private static final class Service {
    @Option(names = "--rc", description = "Reliable connection; the default.")
    private boolean rc;

    @Option(names = "--uc", description = "Unreliable connection.")
    private boolean uc;

    @Option(names = "--ud", description = "Unreliable datagrams.")
    private boolean ud;

    QueuePairType type() {
      if (rc || !(uc || ud)) {
        return QueuePairType.RC;
      }
      return ud ? QueuePairType.UD : QueuePairType.UC;
    }
  }

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port to listen on or to connect to; default: ${DEFAULT-VALUE}.")
  private int tcpPort = 18515;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Size of a message; default: 4096, for datagrams 1024.")
  private int size;

  @Option(
      names = {"-m", "--mtu"},
      paramLabel = "BYTES",
      description = "Path MTU; default: ${DEFAULT-VALUE}.")
  private int mtu = 1024;

  @Option(
      names = {"-r", "--rx-depth"},
      paramLabel = "N",
      description = "Receives to post at a time; default: ${DEFAULT-VALUE}.")
  private int depth = 500;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Exchanges; default: ${DEFAULT-VALUE}.")
  private int iterations = 1000;

  @Option(
      names = {"-l", "--sl"},
      paramLabel = "N",
      description = "Service level.")
  private int serviceLevel;

  @Option(
      names = {"-e", "--events"},
      description = "Sleep until a completion event comes, instead of polling.")
  private boolean events;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  private MemoryRegion region;
  private CompletionQueue queue;
  private QueuePair queuePair;
  private SendList send;
  private ReceiveList receives;

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (size == 0) {
      size = isDatagram() ? 1024 : 4096;
    }
    if (size < 0 || iterations < 1 || depth < 2) {
      throw new IllegalArgumentException("size and iters must be 1 or more, rx-depth 2 or more");
    }
    PrintWriter out = spec.commandLine().getOut();
    try (Arena arena = Arena.ofConfined();
        Context context = options.open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      region =
          domain.registerMemory(arena.allocate(header() + (long) size), AccessFlag.LOCAL_WRITE);
      create(domain);
      QueuePairAddress local = queuePair.localAddress();
      queuePair.bringUp().init();
      require(queuePair.post(receives), depth);
      if (events) {
        queue.requestNotification();
      }
      out.println("  local address:  " + PingPongAddress.describe(local));
      QueuePairAddress remote = host == null ? serve(local) : visit(local);
      out.println("  remote address: " + PingPongAddress.describe(remote));
      long start = System.nanoTime();
      bounce();
      report(System.nanoTime() - start, out);
    }
    return 0;
  }

  private boolean isDatagram() {
    return service.type() == QueuePairType.UD;
  }

  private int header() {
    return isDatagram() ? ROUTING_HEADER : 0;
  }

  private void create(ProtectionDomain domain) {
    CompletionQueue.Builder builder = domain.context().completionQueue(depth + 1);
    if (events) {
      builder.channel(domain.context().createCompletionChannel());
    }
    queue = builder.create();
    queuePair =
        domain
            .queuePair(service.type())
            .completions(queue)
            .capacity(new QueuePairCapacity(1, depth, 1, 1, 0))
            .create();
    options.apply(queuePair).mtu(Mtu.ofBytes(mtu)).serviceLevel(serviceLevel).access().reads(1);
    receives = new ReceiveList(depth, 1);
    for (int i = 0; i < depth; i++) {
      receives.id(i, RECEIVE);
      receives.local(i, region, 0, header() + size);
    }
  }

  /** Makes the queue pair ready to send to the other end, and formats what it sends. */
  private void connect(QueuePairAddress remote) {
    send = new SendList(1, 1);
    SendRequest request = send.send(0).id(SEND).local(region, header(), size).signaled();
    if (isDatagram()) {
      queuePair.activate();
      request.to(queuePair.domain().createAddressHandle(path(remote)), remote.number(), QUEUE_KEY);
    } else {
      queuePair.connect(remote);
    }
  }

  private AddressVector path(QueuePairAddress remote) {
    GidChoice local = queuePair.bringUp().choice();
    return local.isGlobal()
        ? AddressVector.global(options.port(), new GlobalRoute(remote.gid(), local.index()))
        : AddressVector.local(options.port(), remote.lid());
  }

  /** The server is connected before the client knows its address, so no packet comes too soon. */
  private QueuePairAddress serve(QueuePairAddress local) throws IOException {
    try (Peer peer = Peer.accept(tcpPort)) {
      QueuePairAddress remote = remote(peer, local);
      connect(remote);
      peer.send(PingPongAddress.bytes(local));
      peer.receive(DONE.length);
      return remote;
    }
  }

  private QueuePairAddress visit(QueuePairAddress local) throws IOException {
    try (Peer peer = Peer.connect(host, tcpPort)) {
      peer.send(PingPongAddress.bytes(local));
      QueuePairAddress remote = remote(peer, local);
      connect(remote);
      peer.send(DONE);
      return remote;
    }
  }

  private QueuePairAddress remote(Peer peer, QueuePairAddress local) throws IOException {
    byte[] line = peer.receive(PingPongAddress.SIZE);
    return PingPongAddress.of(line, Mtu.ofBytes(mtu), local.gid());
  }

  /** The client sends first; then each end answers what it got, once its own send is done. */
  private void bounce() throws InterruptedException {
    Completions completions = new Completions(2);
    int pending = RECEIVE;
    int sent = 0;
    int received = 0;
    int waiting = depth;
    if (host != null) {
      require(queuePair.post(send), 1);
      pending |= SEND;
    }
    while (received < iterations || sent < iterations) {
      if (events) {
        awaitEvent();
      }
      while (queue.poll(completions) > 0) {
        for (int i = 0; i < completions.count(); i++) {
          if (!completions.isSuccess(i)) {
            throw new IllegalStateException(completions.describe(i));
          }
          if (completions.id(i) == SEND) {
            sent++;
          } else {
            received++;
            waiting--;
            if (waiting <= 1) {
              require(queuePair.post(receives, 0, depth - waiting), depth - waiting);
              waiting = depth;
            }
          }
          pending &= ~(int) completions.id(i);
          if (sent < iterations && pending == 0) {
            require(queuePair.post(send), 1);
            pending = RECEIVE | SEND;
          }
        }
      }
    }
  }

  private void awaitEvent() throws InterruptedException {
    CompletionChannel channel = queue.channel().orElseThrow();
    channel.take().requestNotification();
  }

  private static void require(int taken, int wanted) {
    if (taken < wanted) {
      throw new IllegalStateException("the queue took " + taken + " of " + wanted + " requests");
    }
  }

  private void report(long nanos, PrintWriter out) {
    double seconds = nanos / 1e9;
    long bytes = 2L * size * iterations;
    out.printf(
        Locale.ROOT,
        "%d bytes in %.2f seconds = %.2f Mbit/sec%n",
        bytes,
        seconds,
        bytes * 8 / seconds / 1e6);
    out.printf(
        Locale.ROOT,
        "%d iters in %.2f seconds = %.2f usec/iter%n",
        iterations,
        seconds,
        seconds * 1e6 / iterations);
  }
}
