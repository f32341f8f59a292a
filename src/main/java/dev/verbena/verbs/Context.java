package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.CriticalCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Segments;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_values_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.timespec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * An open device: {@code struct ibv_context}, and what {@code verbs_get_ctx} finds around it.
 * Everything else is made from here.
 *
 * <p>Closing it calls {@code ibv_close_device}.
 */
public final class Context extends Resource {
  private final Provider provider;
  private final Device device;
  private final Linking linking;
  private final CriticalCalls criticalCalls;
  private final MemorySegment struct;
  private final AsyncEvents asyncEvents;

  /** A context that was opened here and is closed here. */
  static Context opened(Provider provider, Device device, long address) {
    LeakReport leak = new LeakReport("context of " + device);
    return leak.watch(
        new Context(
            provider,
            device,
            address,
            () -> {
              provider.verbs().ibv_close_device(address);
              leak.closed();
            }));
  }

  @SuppressWarnings("this-escape") // The events only keep the reference.
  private Context(Provider provider, Device device, long address, Runnable release) {
    super(address, release);
    this.provider = provider;
    this.device = device;
    this.linking = Linking.of(device);
    this.criticalCalls = new CriticalCalls(linking.isCritical());
    this.struct = Memory.at(address, ibv_context.sizeof());
    this.asyncEvents = new AsyncEvents(this, ibv_context.async_fd(struct));
  }

  /**
   * A context that C code opened and will close, such as one of librdmacm. Taking one of its
   * {@linkplain #asyncEvents events} makes their file descriptor non-blocking, and so it stays:
   * whoever waits for one in C then gets EAGAIN instead.
   *
   * @param segment the {@code struct ibv_context}
   * @return a context whose closing closes what was made from it, but not the device
   */
  public static Context borrow(MemorySegment segment) {
    return borrow(Provider.system(), segment);
  }

  static Context borrow(Provider provider, MemorySegment segment) {
    long address = Segments.object(segment, "ibv_context");
    return new Context(provider, deviceOf(provider, address), address, () -> {});
  }

  static Context imported(Provider provider, int descriptor) {
    long address = provider.verbs().ibv_import_device(descriptor);
    return opened(provider, deviceOf(provider, address), address);
  }

  private static Device deviceOf(Provider provider, long address) {
    long device = ibv_context.device(Memory.at(address, ibv_context.sizeof())).address();
    return Device.of(provider, device);
  }

  /**
   * The device that is open.
   *
   * @return its description
   */
  public Device device() {
    return device;
  }

  /**
   * How many completion vectors (interrupts) completion queues can be spread over.
   *
   * @return at least 1
   */
  public int completionVectors() {
    requireOpen();
    return ibv_context.num_comp_vectors(struct);
  }

  /**
   * What the device can do: {@code ibv_query_device_ex}, or {@code ibv_query_device} where provider
   * or kernel lack it.
   *
   * @return its attributes
   */
  public DeviceAttributes deviceAttributes() {
    MemorySegment attributes = ibv_device_attr_ex.allocate(Arena.ofAuto());
    whileOpen(() -> verbs().ibv_query_device_ex(address(), 0, attributes.address()));
    return new DeviceAttributes(attributes);
  }

  /**
   * The device's clock now, which completion time stamps are read from: {@code
   * ibv_query_rt_values_ex}.
   *
   * @return the time since an instant of the device's own choice
   */
  public Duration rawClock() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment values = ibv_values_ex.allocate(arena);
      ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK());
      whileOpen(() -> verbs().ibv_query_rt_values_ex(address(), values.address()));
      MemorySegment clock = ibv_values_ex.raw_clock(values);
      return Duration.ofSeconds(timespec.tv_sec(clock), timespec.tv_nsec(clock));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(device + " shows no clock") : e;
    }
  }

  /**
   * A port of the device.
   *
   * @param number 1 for the first one
   * @return the port
   * @throws IllegalArgumentException if there is no such port
   */
  public Port port(int number) {
    int count = deviceAttributes().portCount();
    if (number < 1 || number > count) {
      throw new IllegalArgumentException(
          device + " has port " + (count == 1 ? "1" : "1 to " + count) + ", not " + number);
    }
    return new Port(this, number);
  }

  /**
   * The device's ports.
   *
   * @return all of them, in their order
   */
  public List<Port> ports() {
    return IntStream.rangeClosed(1, deviceAttributes().portCount())
        .mapToObj(number -> new Port(this, number))
        .toList();
  }

  /**
   * The GIDs of all ports: {@code ibv_query_gid_table} by its symbol {@code _ibv_query_gid_table},
   * or one {@code ibv_query_gid} for each where the library is older than rdma-core 32.
   *
   * @return the entries that are not empty, by port and index
   */
  public List<GidEntry> gidTable() {
    int max = ports().stream().mapToInt(port -> port.attributes().gidTableLength()).sum();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entries = ibv_gid_entry.allocateArray(Math.max(max, 1), arena);
      long count =
          whileOpen(() -> verbs().ibv_query_gid_table(address(), entries.address(), max, 0));
      return LongStream.range(0, count)
          .mapToObj(i -> GidEntry.readFrom(ibv_gid_entry.asSlice(entries, i)))
          .toList();
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        return ports().stream().flatMap(this::gidsOneByOne).toList();
      }
      throw e;
    }
  }

  private Stream<GidEntry> gidsOneByOne(Port port) {
    SystemFiles files = new SystemFiles(device.sysfsPath());
    return IntStream.range(0, port.attributes().gidTableLength())
        .mapToObj(index -> files.gidEntry(port.number(), index, port.gid(index)))
        .filter(entry -> !entry.gid().isZero());
  }

  /**
   * Makes a protection domain: {@code ibv_alloc_pd}.
   *
   * @return a domain, to be closed
   */
  public ProtectionDomain allocateProtectionDomain() {
    return make(List.of(this), () -> new ProtectionDomain(this, verbs().ibv_alloc_pd(address())));
  }

  /**
   * Opens an XRC domain that is not shared with other processes: {@code ibv_open_xrcd}.
   *
   * @return the domain, to be closed
   */
  public XrcDomain openXrcDomain() {
    return XrcDomain.open(this, -1, Set.of(XrcDomainFlag.CREAT));
  }

  /**
   * Opens an XRC domain that is associated with a file: {@code ibv_open_xrcd}. All processes that
   * open a domain with the same file share it.
   *
   * @param descriptor an open file descriptor
   * @param flags CREAT, EXCL, or none to open an existing domain
   * @return the domain, to be closed
   */
  public XrcDomain openXrcDomain(int descriptor, XrcDomainFlag... flags) {
    if (descriptor < 0) {
      throw new IllegalArgumentException("a file descriptor is not negative: " + descriptor);
    }
    return XrcDomain.open(this, descriptor, Set.of(flags));
  }

  /**
   * Makes a completion queue that is only polled: {@code ibv_create_cq}.
   *
   * @param entries how many completions it must hold; the real {@linkplain CompletionQueue#capacity
   *     capacity} may be larger
   * @return a queue, to be closed
   */
  public CompletionQueue createCompletionQueue(int entries) {
    return completionQueue(entries).create();
  }

  /**
   * Begins a completion queue with more to say about it.
   *
   * @param entries how many completions it must hold
   * @return a builder
   */
  public CompletionQueue.Builder completionQueue(int entries) {
    requireOpen();
    return new CompletionQueue.Builder(this, entries);
  }

  /**
   * What happens beside the data path: ports that go down, queues that fail.
   *
   * @return the events of this context
   */
  public AsyncEvents asyncEvents() {
    return asyncEvents;
  }

  /**
   * Makes a channel on which completion queues announce completions: {@code
   * ibv_create_comp_channel}.
   *
   * @return a channel, to be closed
   */
  public CompletionChannel createCompletionChannel() {
    return CompletionChannel.create(this);
  }

  /**
   * Makes a thread domain: {@code ibv_alloc_td}.
   *
   * @return a domain, to be closed
   */
  public ThreadDomain allocateThreadDomain() {
    return ThreadDomain.allocate(this);
  }

  /**
   * Allocates memory on the device: {@code ibv_alloc_dm}.
   *
   * @param length how much
   * @return the memory, to be closed
   */
  public DeviceMemory allocateDeviceMemory(long length) {
    return DeviceMemory.allocate(this, length, 1);
  }

  /**
   * Allocates memory on the device: {@code ibv_alloc_dm}.
   *
   * @param length how much
   * @param alignment what its address must be a multiple of, such as 8 for atomic operations
   * @return the memory, to be closed
   */
  public DeviceMemory allocateDeviceMemory(long length, long alignment) {
    return DeviceMemory.allocate(this, length, alignment);
  }

  /**
   * Imports device memory of another process: {@code ibv_import_dm}. This context must be
   * {@linkplain Device#importContext imported} from that process.
   *
   * @param handle as {@link DeviceMemory#handle} shows it there
   * @param length as {@link DeviceMemory#length} shows it there
   * @return memory whose closing leaves the other process's alone: {@code ibv_unimport_dm}
   */
  public DeviceMemory importDeviceMemory(int handle, long length) {
    return DeviceMemory.imported(this, handle, length);
  }

  /**
   * Imports a protection domain of another process: {@code ibv_import_pd}. This context must be
   * {@linkplain Device#importContext imported} from that process.
   *
   * @param handle as {@link ProtectionDomain#handle} shows it there
   * @return a domain whose closing leaves the other process's alone: {@code ibv_unimport_pd}
   */
  public ProtectionDomain importProtectionDomain(int handle) {
    return ProtectionDomain.imported(this, handle);
  }

  /**
   * Begins a handle that tells the device about the place of memory.
   *
   * @return a builder
   */
  public DmaHandle.Builder dmaHandle() {
    requireOpen();
    return new DmaHandle.Builder(this);
  }

  /**
   * Makes the table over which a queue pair spreads what it receives: {@code
   * ibv_create_rwq_ind_table}.
   *
   * @param queues one queue for each entry; a power of two of them
   * @return a table, to be closed
   */
  public ReceiveIndirectionTable createReceiveIndirectionTable(List<WorkQueue> queues) {
    return ReceiveIndirectionTable.create(this, queues);
  }

  /**
   * Makes counters for the packets of flow rules: {@code ibv_create_counters}.
   *
   * @return counters of nothing yet, to be closed
   */
  public FlowCounters createFlowCounters() {
    return FlowCounters.create(this);
  }

  /**
   * Makes an action for flow rules: {@code ibv_create_flow_action_esp}.
   *
   * @param esp what to do, with an association and a key
   * @return an action, to be closed
   */
  public FlowAction createFlowAction(EspTransform esp) {
    return FlowAction.create(this, esp);
  }

  /**
   * Makes a counter of completions: {@code ibv_create_comp_cntr}.
   *
   * @param type what to count
   * @return a counter at 0, to be closed
   */
  public CompletionCounter createCompletionCounter(CompletionCounter.Type type) {
    return CompletionCounter.create(this, type);
  }

  /**
   * What completion counters the device has: {@code ibv_query_comp_cntr_caps} by its symbol {@code
   * _ibv_query_comp_cntr_caps}.
   *
   * @return their number and abilities
   */
  public CompletionCounterCapabilities completionCounterCapabilities() {
    return CompletionCounterCapabilities.query(this);
  }

  /**
   * The file descriptor of the open device. A duplicate of it, in this process or sent to another,
   * makes the {@linkplain Device#importContext same context} again.
   *
   * @return the descriptor, which belongs to this context
   */
  public int commandDescriptor() {
    requireOpen();
    return ibv_context.cmd_fd(struct);
  }

  Provider provider() {
    return provider;
  }

  Verbs verbs() {
    return provider.verbs();
  }

  Linking linking() {
    return linking;
  }

  /** Whether the data path may be called critically; for all that is made from here. */
  CriticalCalls criticalCalls() {
    return criticalCalls;
  }

  @Override
  protected void beforeClose() {
    asyncEvents.beforeClose();
    children(ProtectionDomain.class).forEach(ProtectionDomain::closeWindows);
  }

  @Override
  public String toString() {
    return "context of " + device;
  }
}
