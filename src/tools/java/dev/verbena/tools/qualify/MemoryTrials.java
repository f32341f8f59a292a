package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.HALF;
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
        Capability.announcedBy(
            attributes -> attributes.onDemandPaging().supported(),
            "on-demand paging",
            MemoryTrials::onDemandPaging),
        Capability.announcedBy(
            attributes -> attributes.onDemandPaging().implicit(),
            "on-demand paging of the address space",
            bench -> bench.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE).close()),
        Capability.announcedBy(
            attributes -> attributes.has(DeviceCapability.MEM_WINDOW),
            "memory window type 1",
            MemoryTrials::windowOfType1),
        Capability.announcedBy(
            attributes ->
                attributes.has(DeviceCapability.MEM_WINDOW_TYPE_2A)
                    || attributes.has(DeviceCapability.MEM_WINDOW_TYPE_2B),
            "memory window type 2",
            MemoryTrials::windowOfType2),
        Capability.announcedBy(
            attributes -> attributes.maxDeviceMemory() > 0,
            "device memory",
            bench -> DeviceMemory.allocate(bench.context, 64).close()));
  }

  private static void relaxedOrdering(Bench bench) {
    bench
        .domain
        .registerMemory(bench.page(4096), AccessFlag.LOCAL_WRITE, AccessFlag.RELAXED_ORDERING)
        .close();
  }

  private static void reregistration(Bench bench) {
    MemoryRegion region = bench.domain.registerMemory(bench.page(4096), AccessFlag.LOCAL_WRITE);
    region.reregister().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE).apply();
    require(region.access().contains(AccessFlag.REMOTE_WRITE), "the access did not change");
    region.close();
  }

  private static void onDemandPaging(Bench bench) throws Exception {
    MemoryRegion region =
        bench.domain.registerMemory(bench.page(4096), AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND);
    Pair pair = bench.pair(QueuePairType.RC);
    bench.receive(pair.peer(), LENGTH);
    SendList list = new SendList(1, 1);
    list.send(0).local(region, 0, LENGTH).signaled();
    var _ = bench.run(pair.queuePair(), list);
    var _ = bench.success(bench.peerCompletions);
    pair.queuePair().close();
    region.close();
  }

  private static MemoryRegion bindable(Bench bench) {
    return bench.domain.registerMemory(
        bench.page(4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
  }

  private static WindowBinding binding(MemoryRegion region) {
    return new WindowBinding(region, 0, LENGTH, Set.of(AccessFlag.REMOTE_WRITE));
  }

  private static void windowOfType1(Bench bench) throws Exception {
    MemoryWindow window = MemoryWindow.allocate(bench.domain, MemoryWindowType.TYPE_1);
    Pair pair = bench.pair(QueuePairType.RC);
    MemoryRegion region = bindable(bench);
    window.bind(pair.peer(), 1, binding(region));
    var _ = bench.success(bench.peerCompletions);
    write(bench, pair, region, window.rkey());
  }

  private static void windowOfType2(Bench bench) throws Exception {
    MemoryWindow window = MemoryWindow.allocate(bench.domain, MemoryWindowType.TYPE_2);
    Pair pair = bench.pair(QueuePairType.RC);
    MemoryRegion region = bindable(bench);
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
    bench.post(pair.queuePair(), writeTo(bench, region, rkey));
    var _ = bench.completion(bench.completions, CompletionStatus.REM_ACCESS_ERR);
  }

  private static SendList writeTo(Bench bench, MemoryRegion region, int rkey) {
    SendList list = new SendList(1, 1);
    list.write(0).local(bench.memory, 0, LENGTH).remote(region.start(), rkey).signaled();
    return list;
  }

  private static void write(Bench bench, Pair pair, MemoryRegion region, int rkey)
      throws Exception {
    bench.fill();
    var _ = bench.run(pair.queuePair(), writeTo(bench, region, rkey));
    // A read after the write returns what was written.
    SendList read = new SendList(1, 1);
    read.read(0)
        .local(bench.memory, HALF, LENGTH)
        .remote(bench.memory.start(), bench.memory.rkey())
        .signaled();
    var _ = bench.run(pair.queuePair(), read);
    require(
        region.memory().asSlice(0, LENGTH).mismatch(bench.memory.memory().asSlice(0, LENGTH)) < 0,
        "the data that arrived differs from what was sent");
  }
}
