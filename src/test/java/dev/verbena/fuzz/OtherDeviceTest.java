package dev.verbena.fuzz;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.AddressQuery;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.SynchronousMode;
import dev.verbena.cm.Transfers;
import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.EspTransform;
import dev.verbena.flow.FlowAction;
import dev.verbena.flow.FlowCounters;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.messages.Connection;
import dev.verbena.messages.RequestClient;
import dev.verbena.messages.RequestFailedException;
import dev.verbena.messages.RequestServer;
import dev.verbena.packet.PacketPort;
import dev.verbena.soft.SoftHosts;
import dev.verbena.util.ReceiveRing;
import dev.verbena.util.SendRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.ReceiveHash;
import dev.verbena.values.ReceiveHashField;
import dev.verbena.values.ReceiveHashFunction;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.FakeDevices;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomain;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairSession;
import dev.verbena.verbs.ReceiveIndirectionTable;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.TagOperations;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.WindowBinding;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.XrcDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * What combines an object with one of another device throws before C is called: providers use the
 * memory of each other's structs as if it were of their own, and crash or do not return.
 */
class OtherDeviceTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final AccessFlag[] ACCESS = {
    AccessFlag.LOCAL_WRITE,
    AccessFlag.REMOTE_WRITE,
    AccessFlag.REMOTE_READ,
    AccessFlag.REMOTE_ATOMIC,
    AccessFlag.MW_BIND
  };
  private static final SendOperation[] OPERATIONS = {
    SendOperation.SEND, SendOperation.RDMA_WRITE, SendOperation.BIND_MW
  };

  /** Call of a method with an object of another device. */
  interface Call {
    void run() throws Exception;
  }

  private final Map<String, Call> calls = new TreeMap<>();

  // The devices

  /** A device with objects of each kind. */
  private static final class Side implements AutoCloseable {
    final Context context;
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final MemoryRegion region;
    final QueuePair pair;
    final QueuePair datagrams;
    final QueuePair packets;
    final SharedReceiveQueue shared;
    final SharedReceiveQueue tagged;
    final XrcDomain xrc;
    final ThreadDomain threads;
    final WorkQueue work;
    final ReceiveIndirectionTable table;
    final MemoryWindow window;
    final MemoryWindow typeOne;
    final DeviceMemory memory;
    final CompletionCounter counter;
    final FlowCounters flowCounters;
    final FlowRule rule;
    final AddressHandle handle;

    Side(Context opened) {
      context = opened.device().open();
      domain = context.allocateProtectionDomain();
      channel = context.createCompletionChannel();
      queue = context.createCompletionQueue(64);
      region = domain.allocateMemory(64, ACCESS);
      pair = builder(QueuePairType.RC).sendOperations(OPERATIONS).create();
      datagrams = builder(QueuePairType.UD).sendOperations(SendOperation.SEND).create();
      packets = builder(QueuePairType.RAW_PACKET).create();
      shared = SharedReceiveQueue.create(domain, 4);
      tagged =
          SharedReceiveQueue.builder(domain, 4)
              .tagMatching(queue)
              .maxTags(8)
              .maxTagOperations(8)
              .create();
      xrc = XrcDomain.open(context);
      threads = ThreadDomain.allocate(context);
      work = WorkQueue.builder(domain).completions(queue).create();
      table = ReceiveIndirectionTable.create(context, List.of(work));
      window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
      typeOne = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
      memory = DeviceMemory.allocate(context, 64);
      counter = CompletionCounter.create(context, CompletionCounter.Type.WRS);
      flowCounters = FlowCounters.on(context);
      rule = FlowRule.on(packets, 1).match(FlowMatch.ethernet().type(0x0800)).create();
      Gid gid = context.port(1).gid(1);
      handle = domain.createAddressHandle(AddressVector.global(1, new GlobalRoute(gid, 1)));
    }

    QueuePairBuilder builder(QueuePairType type) {
      return QueuePair.builder(domain, type)
          .completions(queue)
          .capacity(QueuePairCapacity.of(4).withSendSges(2));
    }

    WindowBinding binding() {
      return new WindowBinding(region, 0, 8, Set.of(AccessFlag.REMOTE_READ));
    }

    ReceiveList receives() {
      ReceiveList list = new ReceiveList(1, 1);
      list.local(0, region, 0, 8);
      return list;
    }

    SendList sends() {
      SendList list = new SendList(1, 1);
      list.send(0).local(region, 0, 8).signaled();
      return list;
    }

    TagOperations tagOperations() {
      TagOperations operations = new TagOperations(1, 1);
      operations.add(0, 1, 1, 1);
      operations.local(0, region, 0, 8);
      return operations;
    }

    @Override
    public void close() {
      context.close();
    }
  }

  /** Functions that software devices do not have. */
  public static final class Handles {
    private final Arena arena = Arena.ofAuto();

    private long made(long context) {
      MemorySegment struct = arena.allocate(256, 8);
      Memory.putLong(struct.address(), context);
      return struct.address();
    }

    public long create_flow_action_esp(long context, long esp) {
      return made(context);
    }

    public int destroy_flow_action(long action) {
      return 0;
    }

    public long ibv_alloc_dmah(long context, long attributes) {
      return made(context);
    }

    public void ibv_dealloc_dmah(long handle) {}
  }

  // The calls

  private void verbs(Side own, Side other) {
    calls.put(
        "CompletionCounter.attach(QueuePair, Operation, Operation[])",
        () -> own.counter.attach(other.pair, CompletionCounter.Operation.SEND));
    calls.put(
        "CompletionQueue.Builder.channel(CompletionChannel)",
        () -> own.context.completionQueue(4).channel(other.channel));
    calls.put(
        "CompletionQueue.Builder.parentDomain(ProtectionDomain)",
        () -> own.context.completionQueue(4).parentDomain(other.domain));
    calls.put(
        "ReceiveIndirectionTable.create(Context, List)",
        () -> ReceiveIndirectionTable.create(own.context, List.of(other.work)));
    calls.put(
        "DeviceMemory.register(ProtectionDomain, long, long, AccessFlag[])",
        () -> own.memory.register(other.domain, 0, 64, AccessFlag.LOCAL_WRITE));
    calls.put(
        "FlowCounters.attach(Counted, int, FlowRule)",
        () -> own.flowCounters.attach(FlowCounters.Counted.BYTES, 0, other.rule));
    calls.put(
        "FlowRule.Builder.count(FlowCounters)",
        () -> FlowRule.on(own.packets, 1).count(other.flowCounters));
    calls.put(
        "MemoryRegion.Reregistration.domain(ProtectionDomain)",
        () -> own.region.reregister().domain(other.domain));
    calls.put(
        "ParentDomain.Builder.threadDomain(ThreadDomain)",
        () -> ParentDomain.builder(own.domain).threadDomain(other.threads));
    calls.put(
        "ProtectionDomain.createAddressHandle(Port, Completions, int, MemorySegment)",
        () ->
            own.domain.createAddressHandle(
                other.context.port(1), new Completions(1), 0, own.region.memory()));
    calls.put(
        "SharedReceiveQueue.Builder.tagMatching(CompletionQueue)",
        () -> SharedReceiveQueue.builder(own.domain, 4).tagMatching(other.queue));
    calls.put(
        "SharedReceiveQueue.Builder.xrc(XrcDomain, CompletionQueue)",
        () -> {
          SharedReceiveQueue.Builder builder = SharedReceiveQueue.builder(own.domain, 4);
          assertRefused("a completion queue", () -> builder.xrc(own.xrc, other.queue));
          builder.xrc(other.xrc, own.queue);
        });
    calls.put(
        "WorkQueue.Builder.completions(CompletionQueue)",
        () -> WorkQueue.builder(own.domain).completions(other.queue));
    windows(own, other);
    queuePairs(own, other);
    posts(own, other);
  }

  private void windows(Side own, Side other) {
    calls.put(
        "MemoryWindow.bind(QueuePair, long, WindowBinding)",
        () -> {
          assertRefused("a region", () -> own.typeOne.bind(own.pair, 1, other.binding()));
          own.typeOne.bind(other.pair, 1, own.binding());
        });
    calls.put(
        "MemoryWindow.unbind(QueuePair, long)",
        () -> {
          MemoryWindow bound = MemoryWindow.allocate(own.domain, MemoryWindowType.TYPE_1);
          QueuePair pair = own.builder(QueuePairType.RC).create();
          pair.connect(pair.localAddress());
          bound.bind(pair, 1, own.binding());
          bound.unbind(other.pair, 2);
        });
    calls.put(
        "MemoryWindow.bound(QueuePair, int, MemoryRegion)",
        () -> {
          assertRefused("a region", () -> own.window.bound(own.pair, 1, other.region));
          own.window.bound(other.pair, 1, own.region);
        });
  }

  private void queuePairs(Side own, Side other) {
    calls.put(
        "QueuePairBuilder.completions(CompletionQueue)",
        () -> QueuePair.builder(own.domain, QueuePairType.RC).completions(other.queue));
    calls.put(
        "QueuePairBuilder.sendCompletions(CompletionQueue)",
        () -> QueuePair.builder(own.domain, QueuePairType.RC).sendCompletions(other.queue));
    calls.put(
        "QueuePairBuilder.receiveCompletions(CompletionQueue)",
        () -> QueuePair.builder(own.domain, QueuePairType.RC).receiveCompletions(other.queue));
    calls.put(
        "QueuePairBuilder.sharedReceiveQueue(SharedReceiveQueue)",
        () -> QueuePair.builder(own.domain, QueuePairType.RC).sharedReceiveQueue(other.shared));
    ReceiveHash hash =
        new ReceiveHash(
            ReceiveHashFunction.TOEPLITZ, new byte[40], Set.of(ReceiveHashField.SRC_IPV4));
    calls.put(
        "QueuePairBuilder.receiveSideScaling(ReceiveIndirectionTable, ReceiveHash)",
        () ->
            QueuePair.builder(own.domain, QueuePairType.UD).receiveSideScaling(other.table, hash));
  }

  private void posts(Side own, Side other) {
    calls.put("QueuePair.post(SendList)", () -> posted(own.pair.post(other.sends())));
    calls.put(
        "QueuePair.post(SendList, int, int)", () -> posted(own.pair.post(other.sends(), 0, 1)));
    calls.put(
        "QueuePair.post(ReceiveList, int, int)",
        () -> posted(own.pair.post(other.receives(), 0, 1)));
    calls.put("ReceiveQueue.post(ReceiveList)", () -> posted(own.shared.post(other.receives())));
    calls.put(
        "ReceiveQueue.post(ReceiveList, int, int)",
        () -> posted(own.shared.post(other.receives(), 0, 1)));
    calls.put(
        "SharedReceiveQueue.post(ReceiveList, int, int)",
        () -> posted(own.shared.post(other.receives(), 0, 1)));
    calls.put(
        "WorkQueue.post(ReceiveList, int, int)",
        () -> posted(own.work.post(other.receives(), 0, 1)));
    calls.put(
        "ReceiveRing(ReceiveQueue, ReceiveList)",
        () -> new ReceiveRing(own.shared, other.receives()).start());
    calls.put(
        "ReceiveRing(ReceiveQueue, ReceiveList, long)",
        () -> new ReceiveRing(own.shared, other.receives(), 1).start());
    calls.put(
        "QueuePairSession.on(QueuePair, CompletionQueue, int)",
        () -> QueuePairSession.on(own.pair, other.queue, 1));
    calls.put(
        "QueuePairSession.local(int, long, MemoryRegion, long, long)",
        () -> {
          QueuePairSession session = QueuePairSession.on(own.pair, own.queue, 1);
          session.send(0);
          session.local(0, 0, other.region, 0, 1);
        });
    calls.put("SendRing(QueuePair, SendList, long)", () -> posted(ring(own.pair, other.sends())));
    calls.put(
        "SharedReceiveQueue.post(TagOperations)",
        () -> posted(own.tagged.post(other.tagOperations())));
    calls.put(
        "PostingRequest.local(MemoryRegion, long, long)",
        () -> {
          try (Posting posting = own.pair.startPosting()) {
            posting.send().local(other.region, 0, 8);
          }
        });
    calls.put(
        "PostingRequest.to(AddressHandle, int, int)",
        () -> {
          try (Posting posting = own.datagrams.startPosting()) {
            posting.send().to(other.handle, 1, 1);
          }
        });
    calls.put(
        "Posting.bindMemoryWindow(MemoryWindow, int, WindowBinding)",
        () -> {
          try (Posting posting = own.pair.startPosting()) {
            assertRefused(
                "a region", () -> posting.bindMemoryWindow(own.window, 1, other.binding()));
            posting.bindMemoryWindow(other.window, 1, own.binding());
          }
        });
    // Lists have no device before they are posted.
    calls.put(
        "RequestList.local(int, MemoryRegion, long, long)",
        () -> {
          SendList list = own.sends();
          list.local(0, other.region, 0, 8);
          posted(own.pair.post(list));
        });
    calls.put(
        "RequestList.local(int, int, MemoryRegion, long, long)",
        () -> {
          SendList list = new SendList(1, 2);
          list.send(0).local(own.region, 0, 8);
          list.local(0, 1, other.region, 0, 8);
          posted(own.pair.post(list));
        });
    calls.put(
        "SendRequest.local(MemoryRegion, long, long)",
        () -> {
          SendList list = new SendList(1, 1);
          list.send(0).local(other.region, 0, 8);
          posted(own.pair.post(list));
        });
    calls.put(
        "SendRequest.to(AddressHandle, int, int)",
        () -> {
          SendList list = new SendList(1, 1);
          list.send(0).local(own.region, 0, 8).to(other.handle, 1, 1);
          posted(own.datagrams.post(list));
        });
    calls.put(
        "SendList.to(int, AddressHandle, int, int)",
        () -> {
          SendList list = own.sends();
          list.to(0, other.handle, 1, 1);
          posted(own.datagrams.post(list));
        });
    calls.put(
        "SendList.bindMemoryWindow(int, MemoryWindow, int, WindowBinding)",
        () -> {
          SendList list = new SendList(1, 1);
          list.bindMemoryWindow(0, own.window, 1, other.binding());
          assertRefused("a region", () -> posted(own.pair.post(list)));
          list.bindMemoryWindow(0, other.window, 1, own.binding());
          posted(own.pair.post(list));
        });
    calls.put(
        "TagOperations.local(int, MemoryRegion, long, long)",
        () -> {
          TagOperations operations = new TagOperations(1, 1);
          operations.add(0, 1, 1, 1);
          operations.local(0, other.region, 0, 8);
          posted(own.tagged.post(operations));
        });
  }

  private static void posted(int requests) {
    throw new AssertionError(requests + " requests were posted");
  }

  private static void posted(boolean done) {
    throw new AssertionError("a request was posted: " + done);
  }

  private void connections(SoftHosts hosts, Side own, Side other, EventChannel channel)
      throws Exception {
    InetAddress address = hosts.serverAddress();
    calls.put(
        "ConnectionQueues.createQueuePair(QueuePairBuilder)",
        () -> bound(channel, address).queues().createQueuePair(other.builder(QueuePairType.RC)));
    calls.put(
        "ConnectionQueues.createSharedReceiveQueue(Builder)",
        () ->
            bound(channel, address)
                .queues()
                .createSharedReceiveQueue(SharedReceiveQueue.builder(other.domain, 4)));
    calls.put(
        "ConnectionQueues.createQueuePairOnOneChannel(ProtectionDomain, QueuePairCapacity)",
        () ->
            bound(channel, address)
                .queues()
                .createQueuePairOnOneChannel(other.domain, QueuePairCapacity.of(4)));
    DomainCalls.add(calls, hosts, own.region, other.pair);
    calls.put(
        "ConnectionId.migrate(EventChannel)",
        () -> {
          try (SoftHosts others = SoftHosts.create();
              EventChannel foreign = others.call(EventChannel::open)) {
            bound(channel, address).migrate(foreign);
          }
        });
    Connection connection = hosts.client();
    RemoteMemory remote = RemoteMemory.of(own.region);
    MemoryRegion region = other.region;
    calls.put(
        "Connection.read(MemoryRegion, long, long, RemoteMemory, long)",
        () -> connection.read(region, 0, 8, remote, 0));
    calls.put(
        "Connection.postRead(MemoryRegion, long, long, RemoteMemory, long)",
        () -> connection.postRead(region, 0, 8, remote, 0));
    calls.put(
        "Connection.write(MemoryRegion, long, long, RemoteMemory, long)",
        () -> connection.write(region, 0, 8, remote, 0));
    calls.put(
        "Connection.postWrite(MemoryRegion, long, long, RemoteMemory, long)",
        () -> connection.postWrite(region, 0, 8, remote, 0));
    transfers(connection.transfers(), other);
  }

  private static ConnectionId bound(EventChannel channel, InetAddress address) {
    ConnectionId id = channel.createId(PortSpace.TCP);
    id.bind(new InetSocketAddress(address, 0));
    return id;
  }

  private void transfers(Transfers own, Side other) {
    MemoryRegion region = other.region;
    calls.put("Transfers.post(SendList)", () -> posted(own.post(other.sends())));
    calls.put("Transfers.post(ReceiveList)", () -> posted(own.post(other.receives())));
    calls.put(
        "Transfers.send(long, MemoryRegion, long, long)", () -> posted(own.send(1, region, 0, 8)));
    calls.put(
        "Transfers.receive(long, MemoryRegion, long, long)",
        () -> posted(own.receive(1, region, 0, 8)));
    calls.put(
        "Transfers.read(long, MemoryRegion, long, long, long, int)",
        () -> posted(own.read(1, region, 0, 8, 0, 0)));
    calls.put(
        "Transfers.write(long, MemoryRegion, long, long, long, int)",
        () -> posted(own.write(1, region, 0, 8, 0, 0)));
    calls.put(
        "Transfers.fetchAndAdd(long, MemoryRegion, long, long, int, long)",
        () -> posted(own.fetchAndAdd(1, region, 0, 0, 0, 1)));
    calls.put(
        "Transfers.compareAndSwap(long, MemoryRegion, long, long, int, long, long)",
        () -> posted(own.compareAndSwap(1, region, 0, 0, 0, 1, 2)));
    calls.put(
        "Transfers.sendDatagram(long, MemoryRegion, long, long, AddressHandle, int)",
        () -> posted(own.sendDatagram(1, region, 0, 8, other.handle, 1)));
  }

  private void packets(PacketPort port, Side other) {
    calls.put(
        "PacketBuffers.Builder.fragment(MemoryRegion, int, int)",
        () -> port.packets(1).fragment(other.region, 64, 0));
    calls.put(
        "PacketPort.startReceiving(ReceiveList)", () -> port.startReceiving(other.receives()));
    calls.put("PacketPort.startSending(SendList)", () -> posted(port.startSending(other.sends())));
    calls.put(
        "PacketBuffers.setPacket(RequestList, int, int)",
        () -> {
          ReceiveList list = new ReceiveList(1, 1);
          port.packets(1).fragment(64, 0).create().setPacket(list, 0, 0);
          posted(other.shared.post(list));
        });
  }

  private void handles(Context own, Context other) {
    calls.put(
        "FlowRule.Builder.action(FlowAction)",
        () -> {
          EspTransform esp =
              new EspTransform()
                  .association(new EspTransform.Association(Set.of(), 1, 0, 0, 0))
                  .key(new EspTransform.AesGcm(new byte[16], 1, 2, 16));
          FlowAction action = FlowAction.on(other, esp);
          ProtectionDomain domain = own.allocateProtectionDomain();
          CompletionQueue queue = own.createCompletionQueue(4);
          FlowRule.on(QueuePair.builder(domain, QueuePairType.UD).completions(queue).create(), 1)
              .action(action);
        });
    calls.put(
        "MemoryRegistration.dmaHandle(DmaHandle)",
        () -> {
          DmaHandle handle = DmaHandle.builder(other).create();
          MemorySegment memory = Arena.ofAuto().allocate(64);
          own.allocateProtectionDomain().memory(memory).dmaHandle(handle);
        });
  }

  /**
   * A server whose handler calls {@code Request.answer} with a region.
   *
   * @param thrown receives what that throws
   */
  private static RequestServer requestServer(
      SoftHosts hosts, MemoryRegion region, CompletableFuture<RuntimeException> thrown)
      throws Exception {
    RequestServer.Handler handler =
        request -> {
          try {
            request.answer(region, 0, 8, null);
          } catch (RuntimeException e) {
            thrown.complete(e);
            throw e;
          }
        };
    return hosts.call(
        () ->
            RequestServer.builder(new InetSocketAddress(hosts.serverAddress(), 0), handler)
                .clients(1)
                .open());
  }

  private void requests(
      RequestClient client, Side other, CompletableFuture<RuntimeException> thrown) {
    MemorySegment eight = MemorySegment.ofArray(new byte[8]);
    calls.put(
        "RequestClient.call(MemoryRegion, long, long, MemorySegment, Duration)",
        () -> client.call(other.region, 0, 8, eight, SOON));
    calls.put(
        "RequestClient.call(MemorySegment, MemoryRegion, long, long, Duration)",
        () -> client.call(eight, other.region, 0, 8, SOON));
    calls.put(
        "Request.answer(MemoryRegion, long, long, Runnable)",
        () -> {
          assertThrows(RequestFailedException.class, () -> client.call(eight, eight, SOON));
          throw thrown.join();
        });
  }

  private static RequestClient requestClient(SoftHosts hosts, RequestServer server)
      throws Exception {
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                server.run();
              } catch (InterruptedException | IllegalStateException e) {
                // The server is closed.
              }
            });
    return hosts.call(
        () -> RequestClient.connect(new InetSocketAddress(hosts.serverAddress(), server.port())));
  }

  private static void assertRefused(String what, Call call) {
    String message = assertThrows(IllegalArgumentException.class, call::run, what).getMessage();
    assertTrue(
        message.contains("does not belong to")
            || message.contains("another protection domain")
            || message.contains("another provider"),
        () -> what + ": " + message);
    String[] both = message.split(" does not belong to ", -1);
    assertTrue(both.length == 1 || !both[0].contains(both[1]), message);
  }

  @Test
  void objectsOfAnotherDeviceThrow() throws Exception {
    FakeProvider here = new FakeProvider().play(new Handles());
    FakeProvider there = new FakeProvider().play(new Handles());
    CompletableFuture<RuntimeException> thrown = new CompletableFuture<>();
    try (SoftHosts hosts = SoftHosts.create();
        EventChannel channel = hosts.call(EventChannel::open);
        Side own = new Side(hosts.serverContext());
        Side other = new Side(hosts.clientContext());
        PacketPort port = PacketPort.on(hosts.serverContext().device(), 1).open();
        Context hereOpen = FakeDevices.of(here).open();
        Context thereOpen = FakeDevices.of(there).open();
        RequestServer server = requestServer(hosts, other.region, thrown);
        RequestClient client = requestClient(hosts, server)) {
      verbs(own, other);
      requests(client, other, thrown);
      connections(hosts, own, other, channel);
      packets(port, other);
      handles(hereOpen, thereOpen);
      assertEquals(Set.of(), without(CombiningMethods.all(), calls.keySet()), "not tested");
      assertEquals(Set.of(), without(calls.keySet(), CombiningMethods.all()), "not in the API");
      assertAll(
          calls.entrySet().stream()
              .map(call -> () -> assertRefused(call.getKey(), call.getValue())));
    } finally {
      here.close();
      there.close();
    }
  }

  private static Set<String> without(Set<String> all, Set<String> some) {
    Set<String> rest = new TreeSet<>(all);
    rest.removeAll(some);
    return rest;
  }

  /** Here the device is known when librdmacm has resolved the address. */
  @Test
  void protectionDomainOfAnotherDeviceThrowsInSynchronousMode() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Side other = new Side(hosts.clientContext())) {
      String address = hosts.serverAddress().getHostAddress();
      for (AddressQuery query :
          List.of(
              AddressQuery.of(address, "7471"),
              AddressQuery.of(address, "7471").flag(AddressInfo.Flag.PASSIVE))) {
        for (QueuePairCapacity capacity : new QueuePairCapacity[] {null, QueuePairCapacity.of(1)}) {
          hosts.call(
              () -> {
                AddressInfo info =
                    query
                        .portSpace(PortSpace.TCP)
                        .queuePairType(QueuePairType.RC)
                        .resolve(SOON)
                        .getFirst();
                assertRefused(
                    info + " with " + capacity,
                    () -> SynchronousMode.createEndpoint(info, other.domain, capacity));
                return null;
              });
        }
      }
    }
  }

  private static int ring(QueuePair pair, SendList sends) {
    SendRing ring = new SendRing(pair, sends, 0);
    assertEquals(0, ring.next());
    return ring.post();
  }
}
