package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_ah;
import dev.verbena.raw.ibv_ah_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * An address handle (AH): the destination of datagrams and the path to it ({@code struct ibv_ah}).
 *
 * {@snippet :
 * AddressHandle handle = pd.createAddressHandle(addressVector);
 * sends.send(0).local(region, 0, 64).to(handle, remoteNumber, remoteQueueKey);
 * }
 *
 * <p>Get one with {@link ProtectionDomain#createAddressHandle(AddressVector)}. It may be used by
 * several threads. Close it when no send request that uses it is outstanding: {@code
 * ibv_destroy_ah}. See {@code ibv_create_ah(3)}.
 */
public final class AddressHandle extends Resource {
  private final ProtectionDomain domain;
  private final int handle;

  private AddressHandle(ProtectionDomain domain, Core core) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_ah.handle$offset());
    this.domain = domain;
  }

  static AddressHandle create(ProtectionDomain domain, AddressVector path) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_ah_attr.allocate(arena);
      path.writeTo(attr);
      return create(domain, () -> domain.verbs().ibv_create_ah(domain.address(), attr.address()));
    } catch (VerbsException e) {
      throw explained(e, path, domain.context());
    }
  }

  static AddressHandle toSender(
      ProtectionDomain domain,
      Port port,
      Completions completions,
      int index,
      MemorySegment buffer) {
    Core.requireSame(domain.context(), port, port.context());
    try (Arena arena = Arena.ofConfined()) {
      long completion = ReceivedDatagram.completion(arena, completions, index).address();
      long route = ReceivedDatagram.route(arena, buffer).address();
      byte number = (byte) port.number();
      return create(
          domain,
          () -> domain.verbs().ibv_create_ah_from_wc(domain.address(), completion, route, number));
    }
  }

  private static AddressHandle create(ProtectionDomain domain, LongSupplier creation) {
    return Core.make(
        List.of(domain),
        creation,
        domain.verbs()::ibv_destroy_ah,
        core -> new AddressHandle(domain, core));
  }

  private static VerbsException explained(VerbsException e, AddressVector path, Context context) {
    if (e.errno() == Errno.ENOMEM) {
      return Explanation.add(
          e,
          "%s: %s has max_ah = %s address handles: close those that are no longer used"
              .formatted(path, context.device(), context.deviceAttributes().maxAddressHandles()));
    }
    // libmlx5, which looks up the GID itself, says EFAULT.
    if (e.errno() == Errno.EFAULT || path.port() > context.deviceAttributes().portCount()) {
      return Explanation.add(
          e, path + ": the device has no such port, or the port no GID of that index");
    }
    boolean unroutable =
        e.errno() == Errno.EINVAL
            && path.route().isEmpty()
            && path.port() <= context.deviceAttributes().portCount()
            && context.port(path.port()).attributes().linkLayer() == LinkLayer.ETHERNET;
    return Explanation.add(
        e,
        unroutable
            ? path + ": a destination on Ethernet requires a global route (GRH)"
            : path.toString());
  }

  /** {@return the protection domain of the address handle} */
  public ProtectionDomain domain() {
    return domain;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "address handle " + handle + " of " + domain.context().device());
  }
}
