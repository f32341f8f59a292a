package dev.verbena.flow;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_flow_attr;
import dev.verbena.raw.ibv_flow_spec_action_drop;
import dev.verbena.raw.ibv_flow_spec_action_handle;
import dev.verbena.raw.ibv_flow_spec_action_tag;
import dev.verbena.raw.ibv_flow_spec_counter_action;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A flow rule: steers matching packets to a queue pair until it is closed ({@code struct
 * ibv_flow}).
 *
 * {@snippet :
 * FlowRule rule =
 *     FlowRule.on(queuePair, 1)
 *         .match(FlowMatch.ethernet().destination(mac))
 *         .match(FlowMatch.ipv4().destination(0x0a000123))
 *         .match(FlowMatch.udp().destination(4000))
 *         .create();
 * }
 *
 * <p>Closing it calls {@code ibv_destroy_flow}. See {@code ibv_create_flow(3)}.
 */
public final class FlowRule extends Resource {
  private final QueuePair queuePair;

  private FlowRule(QueuePair queuePair, Core core) {
    super(core);
    this.queuePair = queuePair;
  }

  /**
   * {@return a builder of a flow rule whose packets a queue pair receives}
   *
   * @param queuePair the queue pair
   * @param port the port that the packets arrive at
   */
  public static Builder on(QueuePair queuePair, int port) {
    return new Builder(queuePair, port);
  }

  /** A builder of a flow rule: {@code struct ibv_flow_attr} and its specifications. */
  public static final class Builder {
    private static final int PRIORITY_BITS = 16;
    private static final int COUNT_BITS = 8;

    private final QueuePair queuePair;
    private final int port;
    private final List<Spec> specs = new ArrayList<>();
    private final List<Resource> parents = new ArrayList<>();
    private FlowType type = FlowType.NORMAL;
    private int priority;
    private Set<FlowFlag> flags = Set.of();

    /** A specification: a header or an action. */
    private record Spec(long size, Consumer<MemorySegment> writer) {}

    private Builder(QueuePair queuePair, int port) {
      Core.of(queuePair).requireOpen();
      this.queuePair = queuePair;
      this.port = Ranges.port(port);
      parents.add(queuePair);
    }

    /**
     * Sets the type of the rule. The default is {@link FlowType#NORMAL}.
     *
     * @param type the type
     * @return this
     */
    public Builder type(FlowType type) {
      this.type = Objects.requireNonNull(type, "type");
      return this;
    }

    /**
     * Sets the priority of the rule among those that match a packet.
     *
     * @param priority the priority; 0 is the highest and the default
     * @return this
     */
    public Builder priority(int priority) {
      this.priority = Ranges.bits(priority, PRIORITY_BITS, "a priority");
      return this;
    }

    /**
     * Sets the flags of the rule. The default is none.
     *
     * @param flags the flags
     * @return this
     */
    public Builder flags(FlowFlag... flags) {
      this.flags = Set.copyOf(List.of(flags));
      return this;
    }

    /**
     * Adds the next header that packets must have.
     *
     * @param header the header
     * @return this
     */
    public Builder match(FlowMatch header) {
      return match(header, false);
    }

    /**
     * Adds the next header that the inner packet of a tunnel must have.
     *
     * @param header the header
     * @return this
     */
    public Builder matchInner(FlowMatch header) {
      return match(header, true);
    }

    /** Copies the header: the caller may change it for another rule. */
    private Builder match(FlowMatch header, boolean inner) {
      // An array of longs, so that the alignments of C hold in it.
      long size = header.spec().size();
      int longs = (int) Math.ceilDiv(size, Long.BYTES);
      MemorySegment copy = MemorySegment.ofArray(new long[longs]).asSlice(0, size);
      header.spec().writeTo(copy, inner);
      specs.add(new Spec(size, spec -> spec.copyFrom(copy)));
      return this;
    }

    /**
     * Sets the flow tag of the completions of matching packets.
     *
     * @param tag the tag
     * @return this
     */
    public Builder tag(int tag) {
      return act(
          ibv_flow_spec_action_tag.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_TAG(),
          spec -> ibv_flow_spec_action_tag.tag_id(spec, tag));
    }

    /**
     * Drops matching packets.
     *
     * @return this
     */
    public Builder drop() {
      return act(
          ibv_flow_spec_action_drop.sizeof(), rdma_h.IBV_FLOW_SPEC_ACTION_DROP(), spec -> {});
    }

    /**
     * Applies an action to matching packets.
     *
     * @param action an action of the context of the queue pair
     * @return this
     */
    public Builder action(FlowAction action) {
      add(Objects.requireNonNull(action, "action"), action.context());
      return act(
          ibv_flow_spec_action_handle.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_HANDLE(),
          spec -> ibv_flow_spec_action_handle.action(spec, action.segment()));
    }

    /**
     * Counts matching packets.
     *
     * @param counters counters of the context of the queue pair
     * @return this
     */
    public Builder count(FlowCounters counters) {
      add(Objects.requireNonNull(counters, "counters"), counters.context());
      return act(
          ibv_flow_spec_counter_action.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_COUNT(),
          spec -> ibv_flow_spec_counter_action.counters(spec, counters.segment()));
    }

    private void add(Resource parent, Context context) {
      Core.requireSame(queuePair.domain().context(), parent, context);
      parents.add(parent);
    }

    private Builder act(long size, int specType, Consumer<MemorySegment> fields) {
      specs.add(
          new Spec(
              size,
              spec -> {
                ibv_flow_spec_action_tag.type(spec, specType);
                ibv_flow_spec_action_tag.size(spec, (short) size);
                fields.accept(spec);
              }));
      return this;
    }

    /**
     * Creates the rule: {@code ibv_create_flow}.
     *
     * @return the rule, to be closed
     * @throws IllegalArgumentException if it has more than 255 headers and actions
     */
    public FlowRule create() {
      // This number also fits into the size. Without the check the rule would match more packets
      // than requested.
      Ranges.bits(specs.size(), COUNT_BITS, "the number of headers and actions of a flow rule");
      long size = ibv_flow_attr.sizeof() + specs.stream().mapToLong(Spec::size).sum();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = arena.allocate(size, Long.BYTES);
        ibv_flow_attr.type(attr, type.code());
        ibv_flow_attr.size(attr, (short) size);
        ibv_flow_attr.priority(attr, (short) priority);
        ibv_flow_attr.num_of_specs(attr, (byte) specs.size());
        ibv_flow_attr.port(attr, (byte) port);
        ibv_flow_attr.flags(attr, (int) NativeFlag.mask(flags));
        long at = ibv_flow_attr.sizeof();
        for (Spec spec : specs) {
          // C stores them one after the other, without padding.
          MemorySegment aligned = arena.allocate(spec.size(), Long.BYTES);
          spec.writer().accept(aligned);
          MemorySegment.copy(aligned, 0, attr, at, spec.size());
          at += spec.size();
        }
        return Core.make(
            parents,
            () ->
                Core.of(queuePair)
                    .verbs()
                    .ibv_create_flow(queuePair.segment().address(), attr.address()),
            Core.of(queuePair).verbs()::ibv_destroy_flow,
            core -> new FlowRule(queuePair, core));
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private VerbsException explained(VerbsException e) {
      String device = queuePair.domain().context().device().toString();
      if (e.isUnsupported()) {
        return Explanation.add(
            e, device + " does not support flow steering, or one of the headers");
      }
      return e.errno() == Errno.EPERM
          ? Explanation.add(e, "flow steering on " + device + " requires CAP_NET_RAW")
          : e;
    }
  }

  /** {@return the queue pair that receives the packets} */
  public QueuePair queuePair() {
    return queuePair;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "flow rule of " + Core.of(queuePair));
  }
}
