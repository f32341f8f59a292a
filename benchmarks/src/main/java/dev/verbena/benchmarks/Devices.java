package dev.verbena.benchmarks;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The device that a benchmark names, opened for both ends: {@code ring}, the library ring.c in
 * place of libibverbs; {@code mlx5} or {@code efa}, the first emulated NIC; {@code soft}, two
 * software devices; or the name of a device of this host.
 */
final class Devices implements AutoCloseable {
  private static final MethodHandle STEP = step(System.getenv("VERBENA_NIC_STEP"));

  final Context context;
  final Context peer;
  private final SoftNetwork network;

  Devices(String name) {
    network = name.equals("soft") ? SoftNetwork.create() : null;
    if (network != null) {
      context = network.addDevice("soft0").open();
      peer = network.addDevice("soft1").open();
    } else {
      context =
          switch (name) {
            case "ring", "efa" -> Device.list().getFirst().open();
            case "mlx5" -> Device.named("mlx5_0").open();
            default -> Device.named(name).open();
          };
      peer = context;
    }
  }

  private static MethodHandle step(String wanted) {
    return wanted == null
        ? null
        : Linker.nativeLinker()
            .downcallHandle(
                SymbolLookup.libraryLookup(System.getenv("VERBENA_NIC"), Arena.global())
                    .find("emulated_nic_step")
                    .orElseThrow(),
                FunctionDescriptor.ofVoid());
  }

  /** Lets the emulated NIC execute what is posted, if it has no thread. */
  static void advance() {
    if (STEP != null) {
      try {
        STEP.invokeExact();
      } catch (Throwable t) {
        throw new AssertionError(t);
      }
    }
  }

  @Override
  public void close() {
    context.close();
    if (network != null) {
      peer.close();
      network.close();
    }
  }
}
