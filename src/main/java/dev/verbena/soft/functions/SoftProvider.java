package dev.verbena.soft.functions;

import dev.verbena.internal.Binding;
import dev.verbena.internal.Libefa;
import dev.verbena.internal.Libibverbs;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.soft.cm.CmManager;
import dev.verbena.soft.cm.CmQueues;
import dev.verbena.soft.device.Fabric;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftRegion;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.wire.Gids;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The provider of a network: the functions that libibverbs and librdmacm export, in Java. */
public final class SoftProvider implements Provider {
  private final Fabric network;
  private final Engine engine;
  private final FailingCalls failingCalls;
  private final Verbs verbs;
  private final Librdmacm rdmacm;
  private final Libefa libefa;
  private final Mlx5dv libmlx5;
  private final CmManager manager;
  private final Set<String> functions = new HashSet<>();

  public SoftProvider(Fabric network, Engine engine, FailingCalls failingCalls) {
    this.network = network;
    this.engine = engine;
    this.failingCalls = failingCalls;
    List<Object> devices = List.of(new DeviceFunctions(network, engine));
    verbs = bind(Verbs.class, devices);
    manager = new CmManager(network, engine, verbs);
    libefa = bind(Libefa.class, List.of());
    libmlx5 = bind(Mlx5dv.class, devices);
    rdmacm = bind(Librdmacm.class, cmFunctions());
    for (Class<?> library :
        List.of(Libibverbs.class, Libefa.class, Mlx5dv.class, Librdmacm.class)) {
      functions.removeAll(Binding.infallible(library)); // Their callers do not expect a failure.
    }
  }

  /** The names of the C functions that can be made to fail. */
  public Set<String> functions() {
    return functions;
  }

  private List<Object> cmFunctions() {
    CmQueues queues = new CmQueues(manager);
    CmChannelFunctions channels = new CmChannelFunctions(manager, queues);
    CmQueueFunctions queueFunctions = new CmQueueFunctions(manager, queues);
    return List.of(
        channels,
        queueFunctions,
        new CmIdFunctions(manager, channels, queueFunctions),
        new CmNameFunctions(manager, channels),
        new CmConnectionFunctions(manager, channels, queues, queueFunctions),
        new CmMulticastFunctions(manager, channels, queues));
  }

  /** Binds an interface of C functions to objects that have methods of these names. */
  private <T> T bind(Class<T> type, List<Object> parts) {
    FunctionTable table = new FunctionTable(parts);
    functions.addAll(table.names());
    return Binding.toJava(
        type, (method, arguments) -> table.call(failingCalls, method.getName(), arguments), this);
  }

  /** Returns RDMA CM of the network. */
  public CmManager manager() {
    return manager;
  }

  @Override
  public Verbs verbs() {
    return verbs;
  }

  @Override
  public Librdmacm rdmacm() {
    return rdmacm;
  }

  @Override
  public <T> T library(Class<T> library) {
    if (library == Libefa.class) {
      return library.cast(libefa);
    }
    return library == Mlx5dv.class ? library.cast(libmlx5) : Provider.super.library(library);
  }

  @Override
  public boolean owns(long context) {
    SoftDevice device = Registry.deviceOf(context);
    return device != null ? network.equals(device.fabric) : manager.opened(context);
  }

  @Override
  public Map<String, Long> counters(long context) {
    SoftDevice device = Registry.deviceOf(context);
    return device == null ? Map.of() : engine.locked(device.counters::values);
  }

  @Override
  public void forgetDevice(long context) {
    manager.forget(context);
  }

  @Override
  public void memoryOf(long region, MemorySegment memory) {
    if (Registry.find(region) instanceof SoftRegion known) {
      engine.locked(() -> known.hold(memory));
    }
  }

  @Override
  public boolean serves(InetAddress address) {
    Gids gid = Gids.of(address);
    return engine.locked(() -> network.port(gid.high(), gid.low()) != null)
        || network.isNear(address);
  }
}
