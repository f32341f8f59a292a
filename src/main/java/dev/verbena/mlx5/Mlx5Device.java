package dev.verbena.mlx5;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.AtomicScope;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.life.Core;
import dev.verbena.mlx5.Mlx5Structs.DeviceAttr;
import dev.verbena.mlx5.Mlx5Structs.QpInitAttr;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairBuilder;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * A device of NVIDIA's ConnectX or BlueField family whose provider is libmlx5: its queue pairs of
 * the dynamically connected transport (DC).
 *
 * {@snippet :
 * // The target, which receives from any number of initiators
 * Mlx5Device mlx5 = Mlx5Device.of(context);
 * QueuePair target =
 *     mlx5.dcTarget(pd, accessKey).receiveCompletions(queue).sharedReceiveQueue(shared).create();
 * target.activate();
 * send(target.localAddress(), accessKey); // to the initiators, by other means
 *
 * // An initiator, which sends to any number of targets
 * QueuePair initiator = mlx5.dcInitiator(pd).sendCompletions(queue).capacity(capacity).create();
 * initiator.activate();
 * AddressHandle handle = pd.createAddressHandle(initiator.setup().pathTo(remote));
 * sends.send(0).local(region, 0, 64).toTarget(handle, remote.number(), accessKey).signaled();
 * int posted = initiator.post(sends);
 * }
 *
 * <p>It has no C object and need not be closed. Several threads may use it. See {@code mlx5dv(7)}
 * and {@code mlx5dv_create_qp(3)}.
 */
public final class Mlx5Device {

  private final Context context;
  private final Mlx5dv libmlx5;
  private final OptionalLong maxDcReadsAsInitiator;
  private final OptionalLong maxDcReadsAsTarget;

  private Mlx5Device(Context context, Mlx5dv libmlx5, MemorySegment attr) {
    this.context = context;
    this.libmlx5 = libmlx5;
    this.maxDcReadsAsInitiator = limit(attr, DeviceAttr.MAX_DC_RD_ATOM);
    this.maxDcReadsAsTarget = limit(attr, DeviceAttr.MAX_DC_INIT_RD_ATOM);
  }

  /** A library that knows the field leaves its bit in the mask; 0: the kernel did not tell. */
  private static OptionalLong limit(MemorySegment attr, int offset) {
    long mask = attr.get(ValueLayout.JAVA_LONG, DeviceAttr.COMP_MASK);
    long value = attr.get(ValueLayout.JAVA_LONG, offset);
    return (mask & DeviceAttr.MASK_MAX_DC_RD_ATOM) == 0 || value == 0
        ? OptionalLong.empty()
        : OptionalLong.of(value);
  }

  /**
   * {@return the mlx5 device of a context: {@code mlx5dv_is_supported} and {@code
   * mlx5dv_query_device}}
   *
   * @param context a context of a device of mlx5
   * @throws VerbsException EOPNOTSUPP if libmlx5 is not the provider of the device, ENOENT if it is
   *     not installed
   */
  public static Mlx5Device of(Context context) {
    Device device = context.device();
    try (Arena arena = Arena.ofConfined()) {
      Mlx5dv libmlx5 = Core.of(context).device().provider().library(Mlx5dv.class);
      MemorySegment attr = arena.allocate(DeviceAttr.SIZE, Long.BYTES);
      attr.set(ValueLayout.JAVA_LONG, DeviceAttr.COMP_MASK, DeviceAttr.MASK_MAX_DC_RD_ATOM);
      Core.of(context).whileOpen(() -> query(libmlx5, context, attr));
      return new Mlx5Device(context, libmlx5, attr);
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, "libmlx5 is not the provider of " + device);
    }
  }

  private static void query(Mlx5dv libmlx5, Context context, MemorySegment attr) {
    if (!libmlx5.mlx5dv_is_supported(Core.of(context).device().address())) {
      throw new VerbsException("mlx5dv_is_supported", Errno.EOPNOTSUPP);
    }
    libmlx5.mlx5dv_query_device(context.segment().address(), attr.address());
  }

  /** {@return the context} */
  public Context context() {
    return context;
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations of a DC initiator,
   * {@code max_dc_rd_atom}; empty before rdma-core 47, or if the kernel does not tell}
   */
  public OptionalLong maxDcReadsAsInitiator() {
    return maxDcReadsAsInitiator;
  }

  /**
   * {@return the maximum number of outstanding RDMA reads and atomic operations at a DC target,
   * {@code max_dc_init_rd_atom}; empty before rdma-core 47, or if the kernel does not tell}
   */
  public OptionalLong maxDcReadsAsTarget() {
    return maxDcReadsAsTarget;
  }

  /**
   * {@return a builder of a DC initiator (DCI), which calls {@code mlx5dv_create_qp}} It can post
   * sends, RDMA writes and reads, and the atomic operations of the device, each to another target:
   * {@link dev.verbena.verbs.SendRequest#toTarget}. It receives nothing and needs a completion
   * queue for send requests only. {@link dev.verbena.verbs.QueuePair#activate} makes it ready.
   *
   * @param domain a protection domain of this context
   */
  public QueuePairBuilder dcInitiator(ProtectionDomain domain) {
    return builder(domain, QueuePairType.DC_INITIATOR, QpInitAttr.DCI, 0)
        .sendOperations(operations());
  }

  /**
   * {@return a builder of a DC target (DCT), which calls {@code mlx5dv_create_qp}} It needs a
   * shared receive queue, and a completion queue for receive requests. {@link
   * dev.verbena.verbs.QueuePair#activate} makes it ready and gives it its number.
   *
   * @param domain a protection domain of this context
   * @param accessKey the DC access key, any number, which requests to this target must contain
   */
  public QueuePairBuilder dcTarget(ProtectionDomain domain, long accessKey) {
    return builder(domain, QueuePairType.DC_TARGET, QpInitAttr.DCT, accessKey);
  }

  private QueuePairBuilder builder(
      ProtectionDomain domain, QueuePairType type, int dcType, long accessKey) {
    Core.requireSame(context, domain, domain.context());
    return QueuePairBuilder.of(
        domain,
        type,
        new QueueMaker(
            attributes -> {
              try (Arena arena = Arena.ofConfined()) {
                MemorySegment attr = arena.allocate(QpInitAttr.SIZE, Long.BYTES);
                attr.set(ValueLayout.JAVA_LONG, QpInitAttr.COMP_MASK, QpInitAttr.MASK_DC);
                attr.set(ValueLayout.JAVA_INT, QpInitAttr.DC_TYPE, dcType);
                attr.set(ValueLayout.JAVA_LONG, QpInitAttr.DCT_ACCESS_KEY, accessKey);
                return libmlx5.mlx5dv_create_qp(
                    context.segment().address(), attributes, attr.address());
              }
            },
            Core.of(context).verbs()::ibv_destroy_qp));
  }

  /** libmlx5 refuses atomic operations of a device that has none. */
  private SendOperation[] operations() {
    List<SendOperation> operations =
        new ArrayList<>(
            List.of(
                SendOperation.SEND,
                SendOperation.SEND_WITH_IMM,
                SendOperation.SEND_WITH_INV,
                SendOperation.RDMA_WRITE,
                SendOperation.RDMA_WRITE_WITH_IMM,
                SendOperation.RDMA_READ));
    if (context.deviceAttributes().atomicScope() != AtomicScope.NONE) {
      operations.add(SendOperation.ATOMIC_CMP_AND_SWP);
      operations.add(SendOperation.ATOMIC_FETCH_AND_ADD);
    }
    return operations.toArray(SendOperation[]::new);
  }

  @Override
  public String toString() {
    return "mlx5 device " + context.device();
  }
}
