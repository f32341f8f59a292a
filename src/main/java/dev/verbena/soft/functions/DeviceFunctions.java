package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_device;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.verbs_context;
import dev.verbena.soft.device.AsyncEventQueue;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Fabric;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.engine.Engine;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** The device list of a network, and opening its devices. */
final class DeviceFunctions {
  private final Fabric network;
  private final Engine engine;

  private final PointerLists lists = new PointerLists();

  DeviceFunctions(Fabric network, Engine engine) {
    this.network = network;
    this.engine = engine;
  }

  public long ibv_get_device_list(long numDevices) {
    return lists.get(
        engine.locked(() -> network.devices().stream().map(d -> d.struct.address()).toList()),
        numDevices);
  }

  public void ibv_free_device_list(long list) {
    var _ = lists.free(list);
  }

  /** Returns a device that was not removed. */
  private Optional<SoftDevice> device(long address) {
    return engine.locked(
        () ->
            network.devices().stream()
                .filter(device -> device.struct.address() == address)
                .findFirst());
  }

  /** A device that was removed is known by its contexts. */
  public boolean mlx5dv_is_supported(long address) {
    return Registry.of(network).stream()
        .map(object -> object.device)
        .anyMatch(device -> device.struct.address() == address && device.profile.isMlx5());
  }

  public long ibv_get_device_name(long device) {
    return CStruct.at(device, ibv_device.layout()).addressOf("name");
  }

  /** As in libibverbs, does not fail for a device that was removed since it was listed. */
  public long ibv_get_device_guid(long device) {
    return device(device).map(found -> Long.reverseBytes(found.guid)).orElse(0L);
  }

  public int ibv_get_device_index(long device) {
    return device(device)
        .map(found -> engine.locked(() -> network.devices().indexOf(found)))
        .orElse(-1);
  }

  public long ibv_open_device(long address) {
    SoftDevice device = device(address).orElseThrow(() -> CallFailure.of(Errno.ENODEV));
    CStruct outer = CStruct.allocate(verbs_context.layout());
    CStruct context = outer.at("context", ibv_context.layout());
    AsyncEventQueue events = new AsyncEventQueue();
    outer.putLong("sz", Abi.current().sizeOf(verbs_context.layout()));
    context
        .putLong("device", address)
        .putInt("cmd_fd", -1)
        .putInt("async_fd", events.descriptor())
        .putInt("num_comp_vectors", SoftDevice.VECTORS)
        .putLong("abi_compat", rdma_h.__VERBS_ABI_IS_EXTENDED().address());
    for (MemoryLayout field : ibv_context_ops.layout().memberLayouts()) {
      String name = field.name().orElse("");
      context.putLong("ops." + name, Pointers.to(name).address());
    }
    for (MemoryLayout field : verbs_context.layout().memberLayouts()) {
      String name = field.name().orElse("");
      MemorySegment pointer = Pointers.to(name);
      if (pointer.address() != 0) {
        outer.putLong(name, pointer.address());
      }
    }
    SoftContext opened = Registry.add(new SoftContext(device, outer, context, events));
    engine.locked(() -> device.contexts.add(opened));
    return opened.address();
  }

  @SuppressWarnings("DoNotCallSuggester") // It is called like every function of the table.
  public long ibv_import_device(int descriptor) {
    throw CallFailure.of(Errno.EOPNOTSUPP, "software devices cannot be imported");
  }

  /** Nothing to do: no memory is given to hardware. */
  public void ibv_fork_init() {}

  public int ibv_is_fork_initialized() {
    return 0;
  }
}
