package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.require;

import dev.verbena.attributes.DeviceCapability;
import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WindowBinding;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** Trials of memory regions, windows and device memory. */
final class MemoryTrials {
  private static final int LENGTH = 64;

  private MemoryTrials() {}

  static List<Capability> all() {
    return List.of(
        Capability.of("memory region, relaxed ordering", MemoryTrials::relaxedOrdering),
        Capability.of("memory region, registered again", MemoryTrials::reregistration),
        Capability.of("null memory region", bench -> bench.domain.allocateNullRegion().close()),
        new Capability(
            "on-demand paging",
            attributes -> attributes.onDemandPaging().supported(),
            MemoryTrials::onDemandPaging),
        new Capability(
            "on-demand paging of the address space",
            attributes -> attributes.onDemandPaging().implicit(),
            bench -> bench.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE).close()),
        new Capability(
            "memory window type 1",
            attributes -> attributes.has(DeviceCapability.MEM_WINDOW),
            MemoryTrials::windowOfType1),
        new Capability(
            "memory window type 2",
            attributes ->
                attributes.has(DeviceCapability.MEM_WINDOW_TYPE_2A)
                    || attributes.has(DeviceCapability.MEM_WINDOW_TYPE_2B),
            MemoryTrials::windowOfType2),
        new Capability(
            "device memory",
            attributes -> attributes.maxDeviceMemory() > 0,
            bench -> DeviceMemory.allocate(bench.context, 64).close()));
  }

  /** Registers a page, with local write access and more. */
  private static MemoryRegion region(Bench bench, AccessFlag... more) {
    AccessFlag[] access = Arrays.copyOf(more, more.length + 1);
    access[more.length] = AccessFlag.LOCAL_WRITE;
    return bench.domain.registerMemory(bench.page(4096), access);
  }

  private static void relaxedOrdering(Bench bench) {
    region(bench, AccessFlag.RELAXED_ORDERING).close();
  }

  private static void reregistration(Bench bench) {
    MemoryRegion region = region(bench);
    region.reregister().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE).apply();
    require(region.access().contains(AccessFlag.REMOTE_WRITE), "the access did not change");
    region.close();
  }

  private static void onDemandPaging(Bench bench) throws Exception {
    MemoryRegion region = region(bench, AccessFlag.ON_DEMAND);
    Pair pair = bench.pair(QueuePairType.RC);
    bench.receive(pair.peer(), LENGTH);
    SendList list = new SendList(1, 1);
    list.send(0).local(region, 0, LENGTH).signaled();
    var _ = bench.run(pair.queuePair(), list);
    var _ = bench.success(bench.peerCompletions);
    pair.queuePair().close();
    region.close();
  }

  private static WindowBinding binding(MemoryRegion region) {
    return new WindowBinding(region, 0, LENGTH, Set.of(AccessFlag.REMOTE_WRITE));
  }

  private static void windowOfType1(Bench bench) throws Exception {
    MemoryWindow window = MemoryWindow.allocate(bench.domain, MemoryWindowType.TYPE_1);
    Pair pair = bench.pair(QueuePairType.RC);
    MemoryRegion region = region(bench, AccessFlag.MW_BIND);
    window.bind(pair.peer(), 1, binding(region));
    var _ = bench.success(bench.peerCompletions);
    write(bench, pair, region, window.rkey());
  }

  private static void windowOfType2(Bench bench) throws Exception {
    MemoryWindow window = MemoryWindow.allocate(bench.domain, MemoryWindowType.TYPE_2);
    Pair pair = bench.pair(QueuePairType.RC);
    MemoryRegion region = region(bench, AccessFlag.MW_BIND);
    int rkey = MemoryWindow.nextKey(window.rkey());
    SendList bind = new SendList(1, 1);
    bind.bindMemoryWindow(0, window, rkey, binding(region)).signaled();
    bench.post(pair.peer(), bind);
    var _ = bench.success(bench.peerCompletions);
    window.bound(pair.peer(), rkey, region);
    write(bench, pair, region, rkey);
    bind.localInvalidate(0, rkey).signaled();
    bench.post(pair.peer(), bind);
    var _ = bench.success(bench.peerCompletions);
    window.invalidated();
    bench.post(pair.queuePair(), bench.write(LENGTH, region.start(), rkey));
    var _ = bench.completion(bench.completions, CompletionStatus.REM_ACCESS_ERR);
  }

  private static void write(Bench bench, Pair pair, MemoryRegion region, int rkey)
      throws Exception {
    bench.fill();
    var _ = bench.run(pair.queuePair(), bench.write(LENGTH, region.start(), rkey));
    // A read after the write returns what was written.
    var _ = bench.run(pair.queuePair(), bench.read(LENGTH));
    require(
        region.memory().asSlice(0, LENGTH).mismatch(bench.memory.memory().asSlice(0, LENGTH)) < 0,
        "the data that arrived differs from what was sent");
  }
}
