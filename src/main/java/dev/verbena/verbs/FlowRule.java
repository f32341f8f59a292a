package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_flow_attr;
import dev.verbena.raw.ibv_flow_spec_action_drop;
import dev.verbena.raw.ibv_flow_spec_action_handle;
import dev.verbena.raw.ibv_flow_spec_action_tag;
import dev.verbena.raw.ibv_flow_spec_counter_action;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A rule that brings packets to a queue pair until it is closed: {@code struct ibv_flow}.
 *
 * <p>
 *
 * {@snippet :
 * FlowRule rule =
 *     queuePair
 *         .flowRule(1)
 *         .match(FlowMatch.ethernet().destination(mac))
 *         .match(FlowMatch.ipv4().destination(0x0a000123))
 *         .match(FlowMatch.udp().destination(4000))
 *         .create();
 * }
 *
 * <p>Closing it calls {@code ibv_destroy_flow}.
 */
public final class FlowRule extends Resource {
  private final QueuePair queuePair;

  private FlowRule(QueuePair queuePair, long address) {
    super(address, () -> queuePair.domain().verbs().ibv_destroy_flow(address));
    this.queuePair = queuePair;
  }

  /** What a rule is about, and what it does: {@code struct ibv_flow_attr} and what follows it. */
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

    /** A header, or something to do. */
    private record Spec(long size, Consumer<MemorySegment> writer) {}

    Builder(QueuePair queuePair, int port) {
      queuePair.requireOpen();
      this.queuePair = queuePair;
      this.port = Ranges.port(port);
      parents.add(queuePair);
    }

    /**
     * Chooses which packets the rule is about in the first place.
     *
     * @param type {@link FlowType#NORMAL} by default
     * @return this
     */
    public Builder type(FlowType type) {
      this.type = Objects.requireNonNull(type, "type");
      return this;
    }

    /**
     * Chooses which rule comes first where several match.
     *
     * @param priority 0, which comes first, by default
     * @return this
     */
    public Builder priority(int priority) {
      this.priority = Ranges.bits(priority, PRIORITY_BITS, "a priority");
      return this;
    }

    /**
     * Chooses what is special about the rule.
     *
     * @param flags nothing by default
     * @return this
     */
    public Builder flags(FlowFlag... flags) {
      this.flags = Set.copyOf(List.of(flags));
      return this;
    }

    /**
     * Asks for the next header of the packet.
     *
     * @param header what it must be
     * @return this
     */
    public Builder match(FlowMatch header) {
      return match(header, false);
    }

    /**
     * Asks for the next header of the packet that is wrapped in this one.
     *
     * @param header what it must be
     * @return this
     */
    public Builder matchInner(FlowMatch header) {
      return match(header, true);
    }

    /** Keeps a copy: the caller may change the header for another rule. */
    private Builder match(FlowMatch header, boolean inner) {
      // An array of longs, so that C's alignments hold in it.
      int longs = (int) Math.ceilDiv(header.size(), Long.BYTES);
      MemorySegment copy = MemorySegment.ofArray(new long[longs]).asSlice(0, header.size());
      header.writeTo(copy, inner);
      specs.add(new Spec(copy.byteSize(), spec -> spec.copyFrom(copy)));
      return this;
    }

    /**
     * Puts a tag on the completion of packets that match.
     *
     * @param tag any number
     * @return this
     */
    public Builder tag(int tag) {
      return act(
          ibv_flow_spec_action_tag.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_TAG(),
          spec -> ibv_flow_spec_action_tag.tag_id(spec, tag));
    }

    /**
     * Drops packets that match.
     *
     * @return this
     */
    public Builder drop() {
      return act(
          ibv_flow_spec_action_drop.sizeof(), rdma_h.IBV_FLOW_SPEC_ACTION_DROP(), spec -> {});
    }

    /**
     * Lets an action change packets that match.
     *
     * @param action what to do
     * @return this
     */
    public Builder action(FlowAction action) {
      parents.add(Objects.requireNonNull(action, "action"));
      return act(
          ibv_flow_spec_action_handle.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_HANDLE(),
          spec -> ibv_flow_spec_action_handle.action(spec, action.segment()));
    }

    /**
     * Counts packets that match.
     *
     * @param counters where to count
     * @return this
     */
    public Builder count(FlowCounters counters) {
      parents.add(Objects.requireNonNull(counters, "counters"));
      return act(
          ibv_flow_spec_counter_action.sizeof(),
          rdma_h.IBV_FLOW_SPEC_ACTION_COUNT(),
          spec -> ibv_flow_spec_counter_action.counters(spec, counters.segment()));
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
     * Puts the rule in force: {@code ibv_create_flow}.
     *
     * @return the rule, to be closed
     * @throws IllegalArgumentException if it has more than 255 headers and things to do
     */
    public FlowRule create() {
      // That many fit their size as well. What were cut off would match more than was asked for.
      Ranges.bits(specs.size(), COUNT_BITS, "the number of headers and actions of a flow rule");
      long size = ibv_flow_attr.sizeof() + specs.stream().mapToLong(Spec::size).sum();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = arena.allocate(size, Long.BYTES);
        ibv_flow_attr.type(attr, type.code());
        ibv_flow_attr.size(attr, (short) size);
        ibv_flow_attr.priority(attr, (short) priority);
        ibv_flow_attr.num_of_specs(attr, (byte) specs.size());
        ibv_flow_attr.port(attr, (byte) port);
        ibv_flow_attr.flags(attr, (int) Flags.mask(flags));
        long at = ibv_flow_attr.sizeof();
        for (Spec spec : specs) {
          // C has them one after the other, whatever that does to the alignment of a pointer.
          MemorySegment aligned = arena.allocate(spec.size(), Long.BYTES);
          spec.writer().accept(aligned);
          MemorySegment.copy(aligned, 0, attr, at, spec.size());
          at += spec.size();
        }
        return make(
            parents,
            () ->
                new FlowRule(
                    queuePair,
                    queuePair
                        .domain()
                        .verbs()
                        .ibv_create_flow(queuePair.address(), attr.address())));
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private VerbsException explained(VerbsException e) {
      String device = queuePair.domain().context().device().toString();
      if (e.isUnsupported()) {
        return e.explained(device + " steers no flows, or knows one of the headers not");
      }
      return e.errno() == Errno.EPERM
          ? e.explained("steering flows of " + device + " needs CAP_NET_RAW")
          : e;
    }
  }

  /**
   * Where the packets go.
   *
   * @return the queue pair
   */
  public QueuePair queuePair() {
    return queuePair;
  }

  @Override
  public String toString() {
    return "flow rule of " + queuePair;
  }
}
