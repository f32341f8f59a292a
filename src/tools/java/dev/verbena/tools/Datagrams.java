package dev.verbena.tools;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.Peer;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.HdrHistogram.Histogram;

/** One end of a measurement of sends by unreliable datagrams (UD). */
final class Datagrams implements AutoCloseable {
  /** The size of the global routing header (GRH) before each received datagram. */
  private static final int ROUTING_HEADER = 40;

  private static final int QUEUE_KEY = 0x11111111;
  private static final String END = "the end of its datagrams";

  /** The time after the last datagram at which no other one is expected. */
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final Peer peer;
  private final PerfTask task;
  private final Context context;
  private final CompletionQueue sent;
  private final CompletionQueue received;
  private final QueuePair queuePair;
  private final MemoryRegion region;
  private final Completions completions = new Completions(Link.BATCH);
  private final ReceiveList receive;
  private AddressHandle handle;
  private int remote;

  Datagrams(Peer peer, PerfTask task, DeviceOptions options) throws IOException {
    this.peer = peer;
    this.task = task;
    context = options.device().open();
    try {
      ProtectionDomain domain = context.allocateProtectionDomain();
      sent = context.createCompletionQueue(Link.DEPTH);
      received = context.createCompletionQueue(Link.DEPTH);
      queuePair =
          QueuePair.builder(domain, QueuePairType.UD)
              .sendCompletions(sent)
              .receiveCompletions(received)
              .capacity(QueuePairCapacity.of(Link.DEPTH))
              .create();
      options.apply(queuePair).init();
      region = domain.allocateMemory(ROUTING_HEADER + 2L * task.size(), AccessFlag.LOCAL_WRITE);
      receive = receives(1);
      post(receives(Link.DEPTH));
      queuePair.activate();
      connect();
    } catch (IOException | RuntimeException e) {
      context.close();
      throw e;
    }
  }

  private void connect() throws IOException {
    QueuePairAddress other =
        QueuePairAddress.fromBytes(
            peer.exchange(queuePair.localAddress().toBytes(), "the address of its queue pair"));
    GidChoice gid = queuePair.setup().choice();
    int port = queuePair.setup().port().number();
    handle =
        queuePair
            .domain()
            .createAddressHandle(
                gid.isGlobal()
                    ? AddressVector.global(port, new GlobalRoute(other.gid(), gid.index()))
                    : AddressVector.local(port, other.lid()));
    remote = other.number();
    peer.meetAt('C', "that its queue pair is ready");
  }

  private ReceiveList receives(int number) {
    ReceiveList list = new ReceiveList(number, 1);
    for (int i = 0; i < number; i++) {
      list.local(i, region, task.size(), (long) ROUTING_HEADER + task.size());
    }
    return list;
  }

  private void post(ReceiveList list) {
    Link.require(queuePair.post(list), list.size());
  }

  private void post(SendList list) {
    Link.require(queuePair.post(list), list.size());
  }

  private SendList sends(int number) {
    SendList list = new SendList(number, 1);
    for (int i = 0; i < number; i++) {
      list.send(i).local(region, 0, task.size());
      list.to(i, handle, remote, QUEUE_KEY);
    }
    list.signaled(number - 1);
    return list;
  }

  /** Takes one completion, of a send or a receive. */
  private void take(CompletionQueue queue) {
    Patience.spin(() -> queue.poll(completions, 1) > 0, task.patience());
    Link.requireSuccess(completions);
  }

  /** Answers each datagram, or receives as many as arrive. */
  void serve() throws IOException {
    if (task.plan().stream()) {
      receiveAll();
      return;
    }
    SendList answer = sends(1);
    for (int i = 0; i < task.total(); i++) {
      take(received);
      post(receive);
      post(answer);
      take(sent);
    }
    peer.meetAt('E', END);
  }

  private void receiveAll() throws IOException {
    long count = 0;
    long last = System.nanoTime();
    boolean hasEnded = false;
    while (!hasEnded || System.nanoTime() - last < PAUSE.toNanos()) {
      int number = received.poll(completions);
      Link.requireSuccess(completions);
      for (int i = 0; i < number; i++) {
        post(receive);
      }
      count += number;
      long now = System.nanoTime();
      last = number > 0 ? now : last;
      if (!hasEnded && now - last > PAUSE.toNanos()) {
        hasEnded = peer.comes(PAUSE, END);
        last = System.nanoTime();
      }
    }
    peer.meetAt('E', END);
    peer.send(ByteBuffer.allocate(Long.BYTES).putLong(count).array());
  }

  /** Returns half of the times of round trips, in nanoseconds. */
  Histogram latency() throws IOException {
    Histogram times = new Histogram(3);
    SendList request = sends(1);
    for (int i = 0; i < task.total(); i++) {
      long start = System.nanoTime();
      post(request);
      take(received);
      long nanos = System.nanoTime() - start;
      post(receive);
      take(sent);
      if (i >= task.warmUp()) {
        times.recordValue(nanos / 2);
      }
    }
    peer.meetAt('E', END);
    return times;
  }

  /** How many datagrams were sent in a second, and how many of all have arrived. */
  record Rate(double perSecond, long received) {}

  /** Sends many datagrams. */
  Rate bandwidth() throws IOException {
    send(task.warmUp());
    long start = System.nanoTime();
    send(task.iterations());
    double perSecond = task.iterations() * 1e9 / (System.nanoTime() - start);
    peer.meetAt('E', END);
    long arrived = ByteBuffer.wrap(peer.receive(Long.BYTES, "how many have arrived")).getLong();
    return new Rate(perSecond, arrived);
  }

  private void send(int number) {
    int batch = task.plan().batch();
    SendList list = sends(batch);
    int outstanding = 0;
    for (int posted = 0; posted < number; posted += batch) {
      if (outstanding == task.plan().depth() / batch) {
        take(sent);
        outstanding--;
      }
      post(list);
      outstanding++;
    }
    for (; outstanding > 0; outstanding--) {
      take(sent);
    }
  }

  @Override
  public void close() {
    context.close();
  }
}
