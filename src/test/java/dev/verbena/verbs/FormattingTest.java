package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A request whose formatting failed cannot be posted, whatever was wrong. */
class FormattingTest {
  private static final int SIZE = 64;
  private static final int INLINE = 32;
  private static final int FORMATS = 1_000_000;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Context context = FakeDevices.of(provider).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionQueue queue = context.completionQueue(16).create();
  private final QueuePair queuePair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(
              QueuePairCapacity.of(8).withSendSges(2).withReceiveSges(2).withMaxInlineData(INLINE))
          .create();
  private final MemoryRegion region = region(arena.allocate(SIZE));
  private final MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
  private final WindowBinding binding = new WindowBinding(region, 0, 8, Set.of());
  private final MemorySegment closed = closed();

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
  }

  private MemoryRegion region(MemorySegment memory) {
    return domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
  }

  private static MemorySegment closed() {
    try (Arena closing = Arena.ofShared()) {
      return closing.allocate(8);
    }
  }

  private static <R extends Resource> R closed(R resource) {
    resource.close();
    return resource;
  }

  @SuppressWarnings("try") // The arena is closed too early, which is the point.
  private WindowBinding bindingWithoutMemory() {
    Arena gone = Arena.ofConfined();
    WindowBinding of = new WindowBinding(region(gone.allocate(8)), 0, 8, Set.of());
    gone.close();
    return of;
  }

  private Map<String, Consumer<SendList>> failures() {
    MemorySegment data = arena.allocate(8);
    MemoryWindow one = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
    MemoryWindow gone = closed(MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2));
    WindowBinding lost = bindingWithoutMemory();
    WindowBinding unregistered = new WindowBinding(region(arena.allocate(8)), 0, 8, Set.of());
    unregistered.region().close();
    MemoryRegion closedRegion = closed(region(arena.allocate(8)));
    AddressHandle closedHandle = closed(domain.createAddressHandle(FakeDevices.PATH));
    Map<String, Consumer<SendList>> all = new TreeMap<>();
    all.put("bind: no window", l -> l.bindMemoryWindow(0, null, 1, binding));
    all.put("bind: no binding", l -> l.bindMemoryWindow(0, window, 1, null));
    all.put("bind: another type", l -> l.bindMemoryWindow(0, one, 1, binding));
    all.put("bind: closed window", l -> l.bindMemoryWindow(0, gone, 1, binding));
    all.put("bind: closed region", l -> l.bindMemoryWindow(0, window, 1, unregistered));
    all.put("bind: closed arena", l -> l.bindMemoryWindow(0, window, 1, lost));
    all.put("tso: no header", l -> l.tso(0, null, 1));
    all.put("tso: closed header", l -> l.tso(0, closed, 1));
    all.put("tso: long header", l -> l.tso(0, arena.allocate(INLINE + 1), 1));
    all.put("tso: no segments", l -> l.tso(0, data, 0));
    all.put("tso: long segments", l -> l.tso(0, data, 1 << 16));
    all.put("inline: no data", l -> l.send(0).inline(null));
    all.put("inline: closed data", l -> l.send(0).inline(closed));
    all.put("inline: long data", l -> l.send(0).inline(arena.allocate(INLINE + 1)));
    all.put("inline: long", l -> l.send(0).inline(INLINE + 1));
    all.put("inline: negative", l -> l.write(0).inline(-1));
    all.put("inline: read", l -> l.read(0).inline(8));
    all.put("inline: with entries", l -> l.send(0).local(region, 0, 8).inline(8));
    all.put("local: no region", l -> l.write(0).local(null, 0, 8));
    all.put("local: closed region", l -> l.write(0).local(closedRegion, 0, 8));
    all.put("local: closed arena", l -> l.write(0).local(lost.region(), 0, 8));
    all.put("local: behind the end", l -> l.write(0).local(region, SIZE, 1));
    all.put("local: negative offset", l -> l.write(0).local(region, -1, 1));
    all.put("local: negative length", l -> l.write(0).local(region, 0, -1));
    all.put("local: one too many", l -> l.send(0).local(region, 0, 1).local(region, 0, 1));
    all.put("local: invalidation", l -> l.localInvalidate(0, 1).local(region, 0, 1));
    all.put("remote: send", l -> l.send(0).remote(0, 1));
    all.put("remote: unaligned", l -> l.fetchAndAdd(0, 1).local(region, 0, 8).remote(4, 1));
    all.put("to: no handle", l -> l.send(0).to(null, 1, 1));
    all.put("to: closed handle", l -> l.send(0).to(closedHandle, 1, 1));
    all.put("to: write", l -> l.write(0).to(closedHandle, 1, 1));
    return all;
  }

  @TestFactory
  Stream<DynamicTest> aFailureLeavesNothingToPost() {
    return failures().entrySet().stream()
        .map(
            failure ->
                DynamicTest.dynamicTest(
                    failure.getKey(), () -> leavesNothingToPost(failure.getValue())));
  }

  private void leavesNothingToPost(Consumer<SendList> failure) {
    SendList list = new SendList(1, 1, INLINE);
    assertThrows(RuntimeException.class, () -> failure.accept(list));
    Throwable refused = assertThrows(IllegalStateException.class, () -> queuePair.post(list));
    assertTrue(refused.getMessage().contains("is not formatted"), refused.getMessage());
    assertEquals(0, list.sges(0));
    list.send(0).local(region, 0, 8);
    assertEquals(WorkRequestOpcode.SEND, list.opcode(0));
  }

  @Test
  void aFailedPatchChangesNothing() {
    SendList list = new SendList(1, 1, INLINE);
    list.write(0).id(1).local(region, 0, 8).remote(16, 1);
    assertThrows(IndexOutOfBoundsException.class, () -> list.local(0, region, SIZE, 8));
    assertThrows(NullPointerException.class, () -> list.local(0, null, 0, 8));
    assertThrows(IllegalArgumentException.class, () -> list.immediate(0, 1));
    assertEquals(WorkRequestOpcode.RDMA_WRITE, list.opcode(0));
    assertEquals(1, list.sges(0));
  }

  @Test
  void forgottenRemoteAddressIsNamed() {
    SendList list = new SendList(1, 1, INLINE);
    for (Runnable format :
        List.<Runnable>of(
            () -> list.write(0).local(region, 0, 8),
            () -> list.write(0).inline(MemorySegment.ofArray(new byte[8])),
            () -> list.read(0).local(region, 0, 8),
            () -> list.fetchAndAdd(0, 1).local(region, 0, 8),
            () -> list.compareAndSwap(0, 1, 2).local(region, 0, 8))) {
      format.run();
      var forgotten = assertThrows(IllegalArgumentException.class, () -> queuePair.post(list));
      assertTrue(forgotten.getMessage().contains("call remote()"), forgotten.getMessage());
    }
    for (Runnable format :
        List.<Runnable>of(
            () -> list.write(0).signaled(), // Zero bytes need no memory.
            () -> list.write(0).local(region, 0, 8).remote(0, 7))) {
      format.run();
      var refused = assertThrows(IllegalStateException.class, () -> queuePair.post(list));
      assertTrue(refused.getMessage().contains("state RESET"), refused.getMessage());
    }
  }

  /** Which is a mistake of the program: the post may find any state of the request. */
  @Test
  void requestThatAnotherThreadFormatsIsPostedOrRefused() throws Exception {
    SendList list = new SendList(1, 2);
    list.send(0).local(region, 0, 8);
    FutureTask<Boolean> formatting =
        new FutureTask<>(
            () -> {
              for (int i = 0; i < FORMATS; i++) {
                list.send(0).local(region, 0, 8).local(region, 8, 8);
              }
              return true;
            });
    Thread _ = Thread.ofPlatform().start(formatting);
    do {
      try {
        assertEquals(1, queuePair.post(list));
      } catch (IllegalStateException | IllegalArgumentException e) {
        String refusal = "send request 0.* is not formatted|.* in state RESET, .*";
        assertTrue(e.getMessage().matches(refusal), e::toString);
      }
    } while (!formatting.isDone());
    assertTrue(formatting.get());
  }
}
