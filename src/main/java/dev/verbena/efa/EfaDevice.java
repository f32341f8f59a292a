package dev.verbena.efa;

import dev.verbena.Errno;
import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.efa.EfaStructs.AhAttr;
import dev.verbena.efa.EfaStructs.CqInitAttr;
import dev.verbena.efa.EfaStructs.DeviceAttr;
import dev.verbena.efa.EfaStructs.MrAttr;
import dev.verbena.efa.EfaStructs.QpInitAttr;
import dev.verbena.efa.EfaStructs.RqDepthAttr;
import dev.verbena.efa.EfaStructs.SqDepthAttr;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Libefa;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.life.Core;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.function.LongUnaryOperator;

/**
 * An Elastic Fabric Adapter: its limits, and its queue pairs of SRD.
 *
 * {@snippet :
 * EfaDevice efa = EfaDevice.of(context);
 * QueuePair queuePair = efa.queuePair(pd).completions(queue).capacity(capacity).create();
 * queuePair.activate();
 * QueuePairAddress remote = exchange(queuePair.localAddress()); // by other means
 * AddressHandle handle = pd.createAddressHandle(queuePair.setup().pathTo(remote));
 * sends.write(0).local(region, 0, 64).remote(address, rkey)
 *     .to(handle, remote.number(), remote.queueKey());
 * int posted = queuePair.post(sends);
 * }
 *
 * <p>It has no C object and need not be closed. Several threads may use it. See {@code efadv(7)}.
 */
public final class EfaDevice {
  private final Context context;
  private final Libefa libefa;
  private final MemorySegment limits;

  private EfaDevice(Context context, Libefa libefa, MemorySegment limits) {
    this.context = context;
    this.libefa = libefa;
    this.limits = limits;
  }

  /**
   * {@return the EFA of a context: {@code efadv_query_device}}
   *
   * @param context a context of an EFA
   * @throws VerbsException EOPNOTSUPP if the device is no EFA, ENOENT if libefa is not installed
   */
  public static EfaDevice of(Context context) {
    try {
      Libefa libefa = Core.of(context).device().provider().library(Libefa.class);
      MemorySegment attr = EfaStructs.allocate(Arena.ofAuto(), DeviceAttr.SIZE);
      Core.of(context)
          .whileOpen(
              () -> libefa.efadv_query_device(address(context), attr.address(), DeviceAttr.SIZE));
      return new EfaDevice(context, libefa, attr);
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, context.device() + " is no EFA");
    }
  }

  private static long address(Resource resource) {
    return resource.segment().address();
  }

  /** {@return the context} */
  public Context context() {
    return context;
  }

  /** {@return the maximum number of send requests of a queue pair: {@code max_sq_wr}} */
  public int maxSendRequests() {
    return EfaStructs.getInt(limits, DeviceAttr.MAX_SQ_WR);
  }

  /**
   * {@return the maximum number of receive requests of a queue pair, if each has one SGE: {@code
   * max_rq_wr}}
   */
  public int maxReceiveRequests() {
    return EfaStructs.getInt(limits, DeviceAttr.MAX_RQ_WR);
  }

  /**
   * {@return the maximum number of SGEs of a send; an RDMA operation has one: {@code max_sq_sge}}
   */
  public int maxSendSges() {
    return EfaStructs.getShort(limits, DeviceAttr.MAX_SQ_SGE);
  }

  /** {@return the maximum number of SGEs of a receive request: {@code max_rq_sge}} */
  public int maxReceiveSges() {
    return EfaStructs.getShort(limits, DeviceAttr.MAX_RQ_SGE);
  }

  /** {@return the maximum size of inline data in bytes: {@code inline_buf_size_ex}} */
  public int maxInlineData() {
    return Math.max( // libefa before rdma-core 63 has the first only.
        EfaStructs.getShort(limits, DeviceAttr.INLINE_BUF_SIZE),
        EfaStructs.getShort(limits, DeviceAttr.INLINE_BUF_SIZE_EX));
  }

  /** {@return the capabilities: {@code device_caps}} */
  public FlagSet<EfaCapability> capabilities() {
    return FlagSet.of(
        EfaCapability.class,
        Integer.toUnsignedLong(EfaStructs.getInt(limits, DeviceAttr.DEVICE_CAPS)));
  }

  /** {@return the maximum size of an RDMA operation in bytes: {@code max_rdma_size}} */
  public long maxRdmaSize() {
    return Integer.toUnsignedLong(EfaStructs.getInt(limits, DeviceAttr.MAX_RDMA_SIZE));
  }

  /**
   * {@return the number of send requests that a queue pair can have with these settings: {@code
   * efadv_get_max_sq_depth}}
   *
   * @param sges the SGEs of a send
   * @param inlineData the size of the inline data of each request, in bytes
   * @param flags the options of the queue pair
   * @throws VerbsException EINVAL if a value exceeds the limits of the device, EOPNOTSUPP before
   *     rdma-core 63
   */
  public int maxSendRequests(int sges, int inlineData, EfaQueuePairFlag... flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = EfaStructs.allocate(arena, SqDepthAttr.SIZE);
      boolean inlineWrite = Set.of(flags).contains(EfaQueuePairFlag.INLINE_WRITE);
      EfaStructs.putInt(attr, SqDepthAttr.FLAGS, inlineWrite ? 1 : 0);
      EfaStructs.putInt(attr, SqDepthAttr.MAX_SEND_SGE, Ranges.notNegative(sges, "number of SGEs"));
      EfaStructs.putInt(attr, SqDepthAttr.MAX_RDMA_SGE, 1);
      EfaStructs.putInt(
          attr, SqDepthAttr.MAX_INLINE_DATA, Ranges.notNegative(inlineData, "size of inline data"));
      return depth(
          "efadv_get_max_sq_depth",
          () -> libefa.efadv_get_max_sq_depth(address(context), attr.address(), SqDepthAttr.SIZE));
    }
  }

  /**
   * {@return the number of receive requests that a queue pair can have: {@code
   * efadv_get_max_rq_depth}}
   *
   * @param sges the SGEs of each receive request, at least 1
   * @throws VerbsException EINVAL if there are more SGEs than the device supports, EOPNOTSUPP
   *     before rdma-core 63
   */
  public int maxReceiveRequests(int sges) {
    var _ = Ranges.positive(sges, "number of SGEs"); // libefa divides by it.
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = EfaStructs.allocate(arena, RqDepthAttr.SIZE);
      EfaStructs.putInt(attr, RqDepthAttr.MAX_RECV_SGE, sges);
      return depth(
          "efadv_get_max_rq_depth",
          () -> libefa.efadv_get_max_rq_depth(address(context), attr.address(), RqDepthAttr.SIZE));
    }
  }

  private int depth(String function, IntSupplier query) {
    int[] depth = {0};
    Core.of(context).whileOpen(() -> depth[0] = query.getAsInt());
    if (depth[0] < 0) {
      throw new VerbsException(
          function,
          -depth[0],
          "a number of SGEs or the inline data exceeds the limits of the device");
    }
    return depth[0];
  }

  /**
   * {@return a builder of an SRD queue pair, which calls {@code efadv_create_qp_ex}} All its send
   * requests are signaled. It can post sends, and the RDMA operations of the device.
   *
   * @param domain a protection domain of this context
   * @param flags options
   */
  public QueuePairBuilder queuePair(ProtectionDomain domain, EfaQueuePairFlag... flags) {
    return queuePair(domain, 0, flags);
  }

  /**
   * {@return a builder of an SRD queue pair with a service level}
   *
   * @param domain a protection domain of this context
   * @param serviceLevel 0 for the default, up to 255
   * @param flags options
   */
  public QueuePairBuilder queuePair(
      ProtectionDomain domain, int serviceLevel, EfaQueuePairFlag... flags) {
    Core.requireSame(context, domain, domain.context());
    if (serviceLevel < 0 || serviceLevel > 255) {
      throw new IllegalArgumentException("service level must be 0 to 255: " + serviceLevel);
    }
    short mask = (short) NativeFlag.mask(flags);
    LongUnaryOperator creation =
        attributes -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = EfaStructs.allocate(arena, QpInitAttr.SIZE);
            EfaStructs.putInt(attr, QpInitAttr.DRIVER_QP_TYPE, QpInitAttr.SRD);
            attr.set(ValueLayout.JAVA_SHORT, QpInitAttr.FLAGS, mask);
            attr.set(ValueLayout.JAVA_BYTE, QpInitAttr.SL, (byte) serviceLevel);
            return libefa.efadv_create_qp_ex(
                address(context), attributes, attr.address(), QpInitAttr.SIZE);
          } catch (VerbsException e) {
            throw explained(e, flags);
          }
        };
    return QueuePairBuilder.of(
            domain,
            QueuePairType.SRD,
            new QueueMaker(creation, Core.of(context).verbs()::ibv_destroy_qp))
        .signalAll()
        .sendOperations(operations());
  }

  private SendOperation[] operations() {
    List<SendOperation> operations =
        new ArrayList<>(List.of(SendOperation.SEND, SendOperation.SEND_WITH_IMM));
    if (capabilities().contains(EfaCapability.RDMA_READ)) {
      operations.add(SendOperation.RDMA_READ);
    }
    if (capabilities().contains(EfaCapability.RDMA_WRITE)) {
      operations.add(SendOperation.RDMA_WRITE);
      operations.add(SendOperation.RDMA_WRITE_WITH_IMM);
    }
    return operations.toArray(SendOperation[]::new);
  }

  private VerbsException explained(VerbsException e, EfaQueuePairFlag... flags) {
    return switch (e.errno()) {
      case Errno.EINVAL ->
          Explanation.add(
              e,
              "an SRD queue pair of "
                  + context.device()
                  + " has at most "
                  + maxSendRequests()
                  + " send requests with "
                  + maxSendSges()
                  + " SGEs and "
                  + maxInlineData()
                  + " bytes of inline data, "
                  + maxReceiveRequests()
                  + " receive requests with "
                  + maxReceiveSges()
                  + " SGEs, and no shared receive queue");
      case Errno.EOPNOTSUPP ->
          Explanation.add(
              e,
              "%s has %s, which does not suit the flags %s or the send operations"
                  .formatted(context.device(), capabilities(), List.of(flags)));
      default -> e;
    };
  }

  /**
   * Creates a completion queue that tells the source of messages, and whether they were solicited:
   * {@code efadv_create_cq}.
   *
   * @param builder the settings, of this context
   * @param fields further fields of its completions
   * @return the queue
   */
  public EfaCompletionQueue createCompletionQueue(
      CompletionQueue.Builder builder, CompletionField... fields) {
    long mask =
        (capabilities().contains(EfaCapability.CQ_WITH_SGID) ? CqInitAttr.WITH_SGID : 0)
            | (capabilities().contains(EfaCapability.UNSOLICITED_WRITE_RECV)
                ? CqInitAttr.WITH_IS_UNSOLICITED
                : 0);
    ExtendedCompletionQueue queue =
        builder.createExtended(
            new QueueMaker(
                attributes -> {
                  try (Arena arena = Arena.ofConfined()) {
                    MemorySegment attr = EfaStructs.allocate(arena, CqInitAttr.SIZE);
                    attr.set(ValueLayout.JAVA_LONG, CqInitAttr.WC_FLAGS, mask);
                    return libefa.efadv_create_cq(
                        address(context), attributes, attr.address(), CqInitAttr.SIZE);
                  }
                },
                Core.of(context).verbs()::ibv_destroy_cq),
            fields);
    return new EfaCompletionQueue(libefa, queue);
  }

  /**
   * {@return the number of an address handle in the device: {@code ahn} of {@code efadv_query_ah}}
   * Completions of receive requests report it as {@linkplain
   * dev.verbena.verbs.Completions#sourceLid source LID}.
   *
   * @param handle an address handle of this context
   */
  public int number(AddressHandle handle) {
    Core.requireSame(context, handle, handle.domain().context());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = EfaStructs.allocate(arena, AhAttr.SIZE);
      Core.of(handle)
          .whileOpen(() -> libefa.efadv_query_ah(address(handle), attr.address(), AhAttr.SIZE));
      return EfaStructs.getShort(attr, AhAttr.AHN);
    }
  }

  /**
   * {@return by which interconnects the device reaches a memory region: {@code efadv_query_mr}}
   *
   * @param region a memory region of this context
   * @throws VerbsException EOPNOTSUPP before rdma-core 50 or Linux 6.8
   */
  public EfaInterconnects interconnects(MemoryRegion region) {
    Core.requireSame(context, region, region.domain().context());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = EfaStructs.allocate(arena, MrAttr.SIZE);
      Core.of(region)
          .whileOpen(() -> libefa.efadv_query_mr(address(region), attr.address(), MrAttr.SIZE));
      int valid = EfaStructs.getShort(attr, MrAttr.IC_ID_VALIDITY);
      return new EfaInterconnects(
          value(attr, valid & 1, MrAttr.RECV_IC_ID),
          value(attr, valid & 2, MrAttr.RDMA_READ_IC_ID),
          value(attr, valid & 4, MrAttr.RDMA_RECV_IC_ID));
    }
  }

  private static OptionalInt value(MemorySegment attr, int valid, int offset) {
    return valid == 0 ? OptionalInt.empty() : OptionalInt.of(EfaStructs.getShort(attr, offset));
  }

  @Override
  public String toString() {
    return "EFA " + context.device();
  }
}
