package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GidEntry;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mr;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;
import dev.verbena.values.SharedReceiveQueueAttributes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Whatever segment a public method is given: C gets it only if it can use it. */
class SegmentsTest {
  private static final int GRH = 40;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Context context = FakeDevices.of(provider).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(8).create();
  private final MemorySegment memory = arena.allocate(64);
  private final MemoryRegion region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
  private final QueuePairCapacity capacity = QueuePairCapacity.of(1);
  private final Completions completions = new Completions(1);

  SegmentsTest() {
    QueuePair queuePair =
        QueuePair.builder(domain, QueuePairType.RC).completions(queue).capacity(capacity).create();
    queuePair.connect(queuePair.localAddress());
    queuePair.fail();
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, region, 0, 64);
    assertEquals(receives.size(), queuePair.post(receives));
    provider.internals().settle();
    assertEquals(1, queue.poll(completions));
  }

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
  }

  /** The methods whose C functions read or write the memory. */
  private Map<String, Consumer<MemorySegment>> ofMemory() {
    Map<String, Consumer<MemorySegment>> all = new TreeMap<>();
    all.put("registerMemory", segment -> domain.registerMemory(segment));
    all.put("reregister", segment -> region.reregister().memory(segment).apply());
    all.put("pathToSender", segment -> context.port(1).pathToSender(completions, 0, segment));
    all.put(
        "createAddressHandle",
        segment -> domain.createAddressHandle(context.port(1), completions, 0, segment));
    all.put(
        "MemoryRegion.borrow, memory",
        segment ->
            MemoryRegion.borrow(
                domain, segment, Memory.at(region.segment().address(), ibv_mr.sizeof()), Set.of()));
    return all;
  }

  /** The public methods that take a struct of C. */
  private Map<String, Consumer<MemorySegment>> ofStructs() {
    Map<String, Consumer<MemorySegment>> all = new TreeMap<>();
    all.put("Context.borrow", segment -> Context.borrow(segment));
    all.put("ProtectionDomain.borrow", s -> ProtectionDomain.borrow(context, s));
    all.put("CompletionChannel.borrow", segment -> CompletionChannel.borrow(context, segment));
    all.put("CompletionQueue.borrow", segment -> CompletionQueue.borrow(context, segment));
    all.put("CompletionQueue.borrow, channel", s -> CompletionQueue.borrow(channel, s));
    all.put("MemoryRegion.borrow", s -> MemoryRegion.borrow(domain, memory, s, Set.of()));
    return all;
  }

  /** A program without native access can make a segment of an address, but not of a length. */
  @TestFactory
  Stream<DynamicTest> addressesInPlaceOfStructsAreRejected() {
    return ofStructs().entrySet().stream()
        .map(
            method ->
                DynamicTest.dynamicTest(
                    method.getKey(),
                    () -> {
                      var bare = MemorySegment.ofAddress(arena.allocate(1024).address());
                      var e =
                          assertThrows(
                              IllegalArgumentException.class, () -> method.getValue().accept(bare));
                      assertTrue(e.getMessage().contains("the segment has 0"), e::getMessage);
                    }));
  }

  @TestFactory
  Stream<DynamicTest> unusableMemoryThrows() {
    return Stream.concat(ofMemory().entrySet().stream(), ofStructs().entrySet().stream())
        .map(method -> DynamicTest.dynamicTest(method.getKey(), () -> refuses(method.getValue())));
  }

  /** The methods that read or write a struct of C by its layout. */
  private static Map<String, Consumer<MemorySegment>> ofLayouts() {
    Map<String, Consumer<MemorySegment>> all = new TreeMap<>();
    all.put("AddressVector.readFrom", s -> AddressVector.readFrom(s));
    all.put("new DeviceAttributes", s -> new DeviceAttributes(s));
    all.put("GidEntry.readFrom", s -> GidEntry.readFrom(s));
    all.put("new PortAttributes", s -> new PortAttributes(s));
    all.put("QueuePairAttributes.copyOf", s -> QueuePairAttributes.copyOf(s, 0));
    all.put("QueuePairCapacity.readFrom", s -> QueuePairCapacity.readFrom(s));
    all.put("QueuePairCapacity.writeTo", QueuePairCapacity.of(1)::writeTo);
    all.put("RateLimit.writeTo", RateLimit.ofKilobitsPerSecond(1)::writeTo);
    all.put("SharedReceiveQueueAttributes.readFrom", s -> SharedReceiveQueueAttributes.readFrom(s));
    all.put(
        "SharedReceiveQueueAttributes.writeTo", new SharedReceiveQueueAttributes(1, 1, 0)::writeTo);
    return all;
  }

  @TestFactory
  Stream<DynamicTest> structsThatAreNotAlignedAreRejected() {
    return ofLayouts().entrySet().stream()
        .map(
            method ->
                DynamicTest.dynamicTest(
                    method.getKey(),
                    () -> {
                      MemorySegment odd = arena.allocate(2048, 64).asSlice(1);
                      var e =
                          assertThrows(
                              IllegalArgumentException.class, () -> method.getValue().accept(odd));
                      assertTrue(e.getMessage().contains("is aligned to"), e::getMessage);
                    }));
  }

  private static void refuses(Consumer<MemorySegment> method) throws Exception {
    assertThrows(NullPointerException.class, () -> method.accept(null));
    MemorySegment heap = MemorySegment.ofArray(new byte[GRH]);
    assertThrows(IllegalArgumentException.class, () -> method.accept(heap));
    Arena closing = Arena.ofShared();
    MemorySegment closed = closing.allocate(GRH);
    closing.close();
    assertThrows(IllegalStateException.class, () -> method.accept(closed));
    var confined = new FutureTask<>(() -> Arena.ofConfined().allocate(GRH));
    Thread.ofPlatform().start(confined);
    MemorySegment foreign = confined.get();
    assertThrows(WrongThreadException.class, () -> method.accept(foreign));
  }

  @TestFactory
  Stream<DynamicTest> nullPointersAndShortBuffersThrow() {
    Stream<Map.Entry<String, Consumer<MemorySegment>>> pointers = ofStructs().entrySet().stream();
    Stream<Map.Entry<String, Consumer<MemorySegment>>> headers =
        ofMemory().entrySet().stream().filter(e -> e.getKey().matches("pathTo.*|create.*"));
    return Stream.concat(
        pointers.map(
            method ->
                DynamicTest.dynamicTest(
                    method.getKey(), () -> refuses(method.getValue(), MemorySegment.NULL))),
        headers.map(
            method ->
                DynamicTest.dynamicTest(
                    method.getKey(), () -> refuses(method.getValue(), arena.allocate(GRH - 1)))));
  }

  private static void refuses(Consumer<MemorySegment> method, MemorySegment segment) {
    assertThrows(IllegalArgumentException.class, () -> method.accept(segment));
  }
}
