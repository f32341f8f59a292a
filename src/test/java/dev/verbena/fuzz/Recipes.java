package dev.verbena.fuzz;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.efa.EfaCompletionQueue;
import dev.verbena.efa.EfaDevice;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.mlx5.Mlx5Device;
import dev.verbena.packet.PacketPort;
import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.soft.Faults;
import dev.verbena.soft.SoftHosts;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * Sequences of calls that make sense, since random ones seldom come as far as data that moves.
 * Other threads may close at any time what they use.
 */
final class Recipes {
  private static final AccessFlag[] ALL = {
    AccessFlag.LOCAL_WRITE,
    AccessFlag.REMOTE_WRITE,
    AccessFlag.REMOTE_READ,
    AccessFlag.REMOTE_ATOMIC,
    AccessFlag.MW_BIND
  };
  private static final AccessFlag[] SRD = {
    AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ
  };
  private static final Duration SOON = Duration.ofSeconds(5);
  private static final int CONTEXTS = 5;
  private static final int TURNS = 200;

  private final Worker worker;

  Recipes(Worker worker) {
    this.worker = worker;
  }

  private Random random() {
    return worker.random();
  }

  private <T> T pick(Class<T> type) {
    return type.cast(worker.pick(type));
  }

  private <T> T keep(T made) {
    worker.keep(made);
    return made;
  }

  /** One of the recipes. */
  void one() {
    if (worker.round().pool.open(Context.class) < 1
        || (random().nextInt(10) == 0 && worker.round().pool.open(Context.class) < CONTEXTS)) {
      worker.perform("recipe: open a device", () -> keep(device().open()));
    }
    boolean cm = !worker.round().target.addresses().isEmpty();
    switch (random().nextInt(cm ? 20 : 14)) {
      case 0 -> worker.perform("recipe: a domain with memory", this::domain);
      case 1 -> worker.perform("recipe: a queue with a channel", this::queue);
      case 2, 3 -> worker.perform("recipe: two connected queue pairs", this::pair);
      case 4 -> worker.perform("recipe: lists", this::lists);
      case 5 -> worker.perform("recipe: a port for packets", this::packets);
      case 6 -> worker.perform("recipe: memory closed with its arena", this::ofArena);
      case 7 -> worker.perform("recipe: a posting", this::posting);
      case 8 -> worker.perform("recipe: no faults", this::noFaults);
      case 9 -> worker.perform("recipe: a network", this::network);
      case 10 -> worker.perform("recipe: two hosts", this::hosts);
      case 11, 12 -> worker.perform("recipe: two SRD queue pairs", this::srd);
      case 13 -> worker.perform("recipe: a DC initiator and a target", this::dc);
      case 14, 15 -> worker.perform("recipe: a connection", this::connection);
      case 16, 17 -> worker.perform("recipe: two channels", this::channels);
      default -> worker.perform("recipe: an identifier", this::identifier);
    }
  }

  private Device device() {
    List<Device> devices = worker.round().target.devices();
    return devices.get(random().nextInt(devices.size()));
  }

  private void domain() {
    Context context = pick(Context.class);
    if (context != null) {
      ProtectionDomain domain = keep(context.allocateProtectionDomain());
      keep(domain.registerMemory(worker.round().memory.page(random()), ALL));
      keep(domain.registerMemory(worker.round().memory.page(random()), ALL));
      keep(MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2));
      keep(SharedReceiveQueue.create(domain, 16));
    }
  }

  private void queue() {
    Context context = pick(Context.class);
    if (context != null) {
      CompletionChannel channel = keep(context.createCompletionChannel());
      keep(context.completionQueue(64).channel(channel).create());
    }
  }

  /** Of one device, of two, or of two that no network connects. */
  private void pair() {
    Context left = pick(Context.class);
    Context right = pick(Context.class);
    if (left == null || right == null) {
      return;
    }
    QueuePairType[] types = {QueuePairType.RC, QueuePairType.RC, QueuePairType.UC};
    QueuePairType type = types[random().nextInt(types.length)];
    boolean extended = random().nextInt(3) == 0;
    QueuePair a = queuePair(left, type, extended);
    QueuePair b = queuePair(right, type, extended);
    QueuePairAddress ofB = b.localAddress();
    b.connect(a.localAddress());
    a.connect(ofB);
  }

  /** Where the device is an EFA: messages in both directions. */
  private void srd() {
    Context left = pick(Context.class);
    Context right = pick(Context.class);
    if (left == null || right == null) {
      return;
    }
    QueuePair a = srd(left);
    QueuePair b = srd(right);
    MemoryRegion from = keep(a.domain().registerMemory(worker.round().memory.page(random()), SRD));
    MemoryRegion to = keep(b.domain().registerMemory(worker.round().memory.page(random()), SRD));
    AddressHandle toA = keep(b.domain().createAddressHandle(toward(a)));
    AddressHandle toB = keep(a.domain().createAddressHandle(toward(b)));
    ReceiveList receives = keep(new ReceiveList(8, 1));
    SendList sends = keep(new SendList(8, 1, 32));
    QueuePairAddress remote = b.localAddress();
    for (int i = 0; i < sends.size(); i++) {
      receives.local(i, 0, to, 64L * i, 64);
      SendRequest request =
          switch (random().nextInt(4)) {
            case 0 -> sends.send(i);
            case 1 -> sends.write(i).remote(to.start(), to.rkey());
            case 2 -> sends.read(i).remote(to.start(), to.rkey());
            default -> sends.writeWithImmediate(i, i).remote(to.start(), to.rkey());
          };
      request.local(from, 0, 32).to(toB, remote.number(), remote.queueKey());
    }
    int received = b.post(receives);
    int sent = a.post(sends);
    if (received + sent > 0 && random().nextBoolean()) {
      toA.close();
    }
  }

  /** Where the device is one of mlx5: requests to a target, with its access key or another. */
  private void dc() {
    Context left = pick(Context.class);
    Context right = pick(Context.class);
    if (left == null || right == null) {
      return;
    }
    ProtectionDomain ofTarget = keep(right.allocateProtectionDomain());
    SharedReceiveQueue shared = keep(SharedReceiveQueue.create(ofTarget, 16));
    QueuePair target =
        keep(
            Mlx5Device.of(right)
                .dcTarget(ofTarget, 1)
                .receiveCompletions(keep(right.createCompletionQueue(64)))
                .sharedReceiveQueue(shared)
                .create());
    target.activate();
    ProtectionDomain domain = keep(left.allocateProtectionDomain());
    QueuePair initiator =
        keep(
            Mlx5Device.of(left)
                .dcInitiator(domain)
                .sendCompletions(keep(left.createCompletionQueue(64)))
                .capacity(QueuePairCapacity.of(16))
                .create());
    initiator.setup().rnrRetryCount(1);
    initiator.activate();
    QueuePairAddress remote = target.localAddress();
    AddressHandle handle = keep(domain.createAddressHandle(initiator.setup().pathTo(remote)));
    MemoryRegion from = keep(domain.registerMemory(worker.round().memory.page(random()), ALL));
    MemoryRegion to = keep(ofTarget.registerMemory(worker.round().memory.page(random()), ALL));
    ReceiveList receives = keep(new ReceiveList(4, 1));
    SendList sends = keep(new SendList(8, 1));
    for (int i = 0; i < receives.size(); i++) {
      receives.local(i, 0, to, 64L * i, 64);
    }
    for (int i = 0; i < sends.size(); i++) {
      SendRequest request =
          switch (random().nextInt(4)) {
            case 0 -> sends.send(i);
            case 1 -> sends.write(i).remote(to.start(), to.rkey());
            case 2 -> sends.fetchAndAdd(i, 1).remote(to.start(), to.rkey());
            default -> sends.writeWithImmediate(i, i).remote(to.start(), to.rkey());
          };
      request
          .local(from, 0, Long.BYTES)
          .toTarget(handle, remote.number(), random().nextInt(8) == 0 ? 2 : 1)
          .signaled();
    }
    int received = shared.post(receives);
    int sent = initiator.post(sends);
    if (received + sent > 0 && random().nextBoolean()) {
      handle.close();
    }
  }

  private static AddressVector toward(QueuePair queuePair) {
    return AddressVector.global(1, new GlobalRoute(queuePair.localAddress().gid(), 0));
  }

  private QueuePair srd(Context context) {
    EfaDevice efa = EfaDevice.of(context);
    ProtectionDomain domain = keep(context.allocateProtectionDomain());
    EfaCompletionQueue queue = keep(efa.createCompletionQueue(context.completionQueue(64)));
    QueuePair made =
        efa.queuePair(domain)
            .completions(keep(queue.queue()))
            .capacity(QueuePairCapacity.of(16))
            .create();
    keep(made).setup().rnrRetryCount(1);
    made.activate();
    return made;
  }

  private QueuePair queuePair(Context context, QueuePairType type, boolean extended) {
    ProtectionDomain domain = keep(context.allocateProtectionDomain());
    CompletionQueue queue = keep(context.createCompletionQueue(64));
    keep(domain.registerMemory(worker.round().memory.page(random()), ALL));
    QueuePairBuilder builder =
        QueuePair.builder(domain, type)
            .completions(queue)
            .capacity(
                QueuePairCapacity.of(16).withSendSges(2).withReceiveSges(2).withMaxInlineData(64));
    return keep(
        extended ? builder.sendOperations(SendOperation.values()).create() : builder.create());
  }

  private void lists() {
    MemoryRegion region = pick(MemoryRegion.class);
    keep(new Completions(1 + random().nextInt(16)));
    if (region == null) {
      return;
    }
    long length = Math.min(64, region.length());
    SendList sends = new SendList(4, 2);
    sends.send(0).local(region, 0, length).signaled();
    sends.write(1).local(region, 0, length).remote(region.start(), region.rkey()).signaled();
    sends.read(2).local(region, 0, length).remote(region.start(), region.rkey()).signaled();
    sends.sendWithImmediate(3, 7).local(region, 0, length).signaled();
    keep(sends);
    ReceiveList receives = new ReceiveList(4, 2);
    for (int i = 0; i < receives.size(); i++) {
      receives.id(i, i);
      receives.local(i, region, 0, region.length());
    }
    keep(receives);
  }

  private void packets() {
    PacketPort port =
        keep(PacketPort.on(device(), 1).sends(16).receives(16).sendSges(2).receiveSges(2).open());
    keep(port.packets(16).fragment(64, 0).create());
    keep(port.queuePair());
  }

  /** The memory stays allocated if the region cannot be closed. */
  private void ofArena() {
    ProtectionDomain domain = pick(ProtectionDomain.class);
    Arena arena = worker.round().memory.arena(random());
    if (domain == null) {
      return;
    }
    MemorySegment memory;
    try {
      memory = arena.allocate(4096, 4096);
    } catch (IllegalStateException e) {
      return; // Another thread has closed the arena.
    }
    keep(domain.memory(memory).access(ALL).register());
  }

  private void posting() {
    QueuePair queuePair = pick(QueuePair.class);
    MemoryRegion region = pick(MemoryRegion.class);
    if (queuePair == null || region == null) {
      return;
    }
    try (Posting posting = queuePair.startPosting()) {
      posting.send().id(1).signaled().local(region, 0, 8);
      posting.write(region.start(), region.rkey()).signaled().local(region, 0, 8);
      int _ = posting.complete();
    }
  }

  // Software networks

  private void noFaults() {
    Faults faults = pick(Faults.class);
    if (faults != null) {
      faults.none();
      faults.portUp("soft0", 1);
      faults.portUp("soft1", 1);
    }
  }

  private void network() throws Exception {
    SoftNetwork network = keep(SoftNetwork.of("2"));
    for (Device device : network.call(Device::list)) {
      keep(device.open());
    }
    if (random().nextInt(4) == 0) {
      network.removeDevice("soft1");
    }
  }

  private void hosts() throws Exception {
    SoftHosts hosts = keep(SoftHosts.create());
    keep(hosts.network());
    keep(hosts.faults());
    keep(hosts.clientContext());
    keep(hosts.client());
    keep(hosts.server());
  }

  /** Posts and polls many times, so that others close what is in use. */
  void burst() {
    SendList sends = pick(SendList.class);
    ReceiveList receives = pick(ReceiveList.class);
    Completions completions = pick(Completions.class);
    QueuePair queuePair = pick(QueuePair.class);
    CompletionQueue queue = pick(CompletionQueue.class);
    if (sends == null
        || receives == null
        || completions == null
        || queuePair == null
        || queue == null) {
      worker.perform("recipe: lists", this::lists);
      return;
    }
    worker.perform(
        "burst on " + queuePair.number() + " of " + sends.size() + " sends",
        () -> {
          for (int i = 0; i < TURNS && !worker.round().isOver(); i++) {
            int _ = queuePair.post(receives);
            int _ = queuePair.post(sends);
            queue.poll(completions);
          }
        });
  }

  // RDMA CM

  private InetAddress address() {
    List<InetAddress> addresses = worker.round().target.addresses();
    return addresses.get(random().nextInt(addresses.size()));
  }

  /** Two ends in this process, the passive one on a thread that ends with the recipe. */
  private void connection() throws Exception {
    InetAddress here = address();
    InetAddress there = address();
    try (Listener listener = Listener.open(new InetSocketAddress(there, 0))) {
      Thread peer =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      Endpoint request = listener.poll(SOON);
                      if (request != null) {
                        worker
                            .round()
                            .keepOfHelper(
                                Connection.accept(
                                    request, ConnectionSettings.DEFAULT.withTimeout(SOON)));
                      }
                    } catch (InterruptedException | RuntimeException e) {
                      // The active side has the outcome.
                    }
                  });
      try {
        Connection client =
            keep(
                Connection.connect(
                    new InetSocketAddress(there, listener.port()),
                    ConnectionSettings.DEFAULT
                        .withTimeout(SOON)
                        .withLocalAddress(new InetSocketAddress(here, 0))));
        keep(client.endpoint());
        keep(client.transfers());
        client.send(new byte[16]);
      } finally {
        peer.interrupt();
        joinUninterruptibly(peer);
      }
    }
  }

  /** Two ends of rsockets with a selector; works where there is a device of the kernel. */
  private void channels() throws Exception {
    ServerSocketChannel listener = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET);
    keep(listener);
    listener.bind(new InetSocketAddress(address(), 0));
    listener.configureBlocking(false);
    Selector selector = keep(RdmaSockets.openSelector());
    keep(listener.register(selector, SelectionKey.OP_ACCEPT));
    RdmaSocketChannel client = keep(RdmaSockets.openSocketChannel(StandardProtocolFamily.INET));
    client.configureBlocking(false);
    client.bind(new InetSocketAddress(address(), 0));
    boolean connected = client.connect(listener.getLocalAddress());
    SocketChannel server = null;
    for (int i = 0; i < TURNS && (server == null || !connected); i++) {
      selector.select(10);
      selector.selectedKeys().clear();
      if (server == null) {
        server = keep(listener.accept());
      }
      connected = connected || client.finishConnect();
    }
    if (server != null) {
      int _ = client.write(ByteBuffer.allocate(64));
      int _ = server.read(ByteBuffer.allocate(64));
      client.configureBlocking(random().nextBoolean());
    }
  }

  private static void joinUninterruptibly(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void identifier() throws Exception {
    EventChannel channel = pick(EventChannel.class);
    if (channel == null) {
      channel = keep(EventChannel.open());
    }
    ConnectionId id =
        keep(channel.createId(random().nextInt(3) == 0 ? PortSpace.UDP : PortSpace.TCP));
    if (random().nextInt(3) == 0) {
      id.bind(new InetSocketAddress(address(), 0));
      id.listen(4);
      return;
    }
    id.resolveAddress(
        new InetSocketAddress(address(), 0), new InetSocketAddress(address(), 7471), SOON);
    channel.poll(Duration.ofMillis(50));
    id.resolveRoute(SOON);
    channel.poll(Duration.ofMillis(50));
    keep(id.queues().createQueuePair(QueuePairCapacity.of(4)));
    id.connect();
  }
}
