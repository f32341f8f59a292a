package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.GidEntry;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceClock;
import dev.verbena.attributes.Statistics;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.LeakReport;
import dev.verbena.internal.MessageCounters;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.host.Linking;
import dev.verbena.internal.host.SystemFiles;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DeviceLoss;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.life.OpenDevice;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_gid_entry;
import dev.verbena.raw.ibv_values_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.timespec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * An open device: {@code struct ibv_context}, with the operations that {@code verbs_get_ctx}
 * returns. All other objects are created from it.
 *
 * {@snippet :
 * try (Context context = Device.list().get(0).open();
 *     ProtectionDomain pd = context.allocateProtectionDomain();
 *     CompletionQueue cq = context.createCompletionQueue(16)) {
 *   System.out.println(context.port(1).attributes().state());
 * }
 * }
 *
 * <p>A context may be used by several threads. Closing it first closes everything that was created
 * from it, then calls {@code ibv_close_device}. See {@code ibv_open_device(3)}.
 */
public final class Context extends Resource {
  private static final long NANOS_OF_A_SECOND = 1_000_000_000;

  private final Provider provider;
  private final Device device;
  private final Linking linking;
  private final DirectPath directPath;
  private final CriticalCalls criticalCalls;
  private final MemorySegment struct;
  private final DeviceLoss loss = new DeviceLoss(this::toString, this::answersEio);
  private final DeviceEvents events;

  /** Returns a context that Verbena opens, and closes. */
  static Context open(Provider provider, LongSupplier opening, LongFunction<Device> device) {
    return Core.make(
        List.of(),
        opening,
        provider.verbs()::ibv_close_device,
        core -> {
          Device opened = device.apply(core.address());
          LeakReport leak = new LeakReport("context of " + opened);
          Context context = new Context(provider, opened, core);
          core.wrapDestruction(
              close -> {
                close.run();
                leak.closed();
              });
          context.events.log();
          core.afterFailedClose(context.events::log);
          return leak.watch(context);
        });
  }

  @SuppressWarnings("this-escape") // The events only keep the reference.
  private Context(Provider provider, Device device, Core core) {
    super(core);
    this.provider = provider;
    this.device = device;
    this.linking = Linking.of(device.sysfsPath());
    this.criticalCalls = new CriticalCalls(linking.isCritical());
    this.directPath = new DirectPath(provider, core.address());
    this.struct = Memory.at(core.address(), ibv_context.sizeof());
    this.events = new DeviceEvents(this, ibv_context.async_fd(struct));
    core.device(
        new OpenDevice(provider, device.name(), ibv_context.device(struct).address(), loss));
    core.beforeClose(this::beforeClose);
    core.wrapDestruction(
        close -> {
          directPath.close();
          close.run();
        });
  }

  /**
   * {@return the context of a device that C code opened and closes, for example librdmacm; closing
   * it closes what was created from it, but not the device} Reading {@linkplain AsyncEvents
   * asynchronous events} sets the file descriptor of the events to non-blocking mode permanently: C
   * code that then waits for an event gets EAGAIN.
   *
   * @param segment the {@code struct ibv_context}
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static Context borrow(MemorySegment segment) {
    Segments.struct(segment, "ibv_context", ibv_context.sizeof());
    return borrow(Providers.ofContext(segment.address()), segment);
  }

  static Context borrow(Provider provider, MemorySegment segment) {
    return Core.borrow(
        List.of(),
        Segments.object(segment, "ibv_context"),
        core -> new Context(provider, deviceOf(provider, core.address()), core));
  }

  static Context imported(Provider provider, int descriptor) {
    return open(
        provider,
        () -> provider.verbs().ibv_import_device(descriptor),
        address -> deviceOf(provider, address));
  }

  private static Device deviceOf(Provider provider, long address) {
    long device = ibv_context.device(Memory.at(address, ibv_context.sizeof())).address();
    return Device.of(provider, device);
  }

  /**
   * Returns the device.
   *
   * @return the device that is open
   */
  public Device device() {
    return device;
  }

  /**
   * Returns why queues of this context cannot have a {@linkplain CompletionQueue.Builder#direct
   * direct data path}.
   *
   * @return the reason, or empty if they can
   */
  public Optional<String> directObstacle() {
    core.requireOpen();
    return directPath.obstacle();
  }

  DirectPath directPath() {
    return directPath;
  }

  /**
   * Returns the file name of the provider library: the library that libibverbs has loaded for this
   * device, for example {@code librxe-rdmav34.so}. A provider that programs can also link with has
   * the name of that library, for example {@code libmlx5.so.1.24.44.0}.
   *
   * @return the name; empty for software devices in Java, and where it cannot be found
   */
  public Optional<String> providerLibrary() {
    core.requireOpen();
    return provider.providerLibrary(address());
  }

  /**
   * Returns the number of completion vectors (interrupts) of the device.
   *
   * @return at least 1
   */
  public int completionVectors() {
    core.requireOpen();
    return ibv_context.num_comp_vectors(struct);
  }

  /**
   * {@return the device attributes: {@code ibv_query_device_ex}, or {@code ibv_query_device} if the
   * provider or the kernel lacks it}
   */
  public DeviceAttributes deviceAttributes() {
    MemorySegment attributes = ibv_device_attr_ex.allocate(Arena.ofAuto());
    core.whileOpen(() -> verbs().ibv_query_device_ex(address(), 0, attributes.address()));
    return new DeviceAttributes(attributes);
  }

  /**
   * Returns whether the device was lost: it was reset, unplugged or unbound from its driver, or
   * reported {@code IBV_EVENT_DEVICE_FATAL}. Nothing can be done with the objects of the context
   * any more, except to close them; a device that comes back is opened again. Asks the kernel
   * ({@code ibv_query_device_ex}), which answers EIO for a lost device, unless an event was read
   * that reports it.
   *
   * @return true if it was lost
   * @throws IllegalStateException if this context is closed
   */
  public boolean isLost() {
    return core.whileOpen(loss::isKnown);
  }

  private boolean answersEio() {
    try (Arena arena = Arena.ofConfined()) {
      long attributes = ibv_device_attr_ex.allocate(arena).address();
      verbs().ibv_query_device_ex(struct.address(), 0, attributes);
      return false;
    } catch (VerbsException e) {
      return e.errno() == Errno.EIO;
    }
  }

  DeviceEvents events() {
    return events;
  }

  DeviceLoss loss() {
    return loss;
  }

  /**
   * Returns the current time of the device clock, which completion timestamps are taken from:
   * {@code ibv_query_rt_values_ex}. {@link #clock} converts differences to nanoseconds.
   *
   * @return the time in ticks since an unspecified origin
   */
  public long rawClock() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment values = ibv_values_ex.allocate(arena);
      ibv_values_ex.comp_mask(values, rdma_h.IBV_VALUES_MASK_RAW_CLOCK());
      core.whileOpen(() -> verbs().ibv_query_rt_values_ex(address(), values.address()));
      if (ibv_values_ex.comp_mask(values) == 0) { // The provider marks what it has queried.
        throw new VerbsException("ibv_query_rt_values_ex", Errno.EOPNOTSUPP);
      }
      MemorySegment clock = ibv_values_ex.raw_clock(values);
      // mlx4 and mlx5 write ticks to the nanoseconds, and 0 to the seconds.
      return timespec.tv_sec(clock) * NANOS_OF_A_SECOND + timespec.tv_nsec(clock);
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, device + " has no readable clock");
    }
  }

  /**
   * {@return the converter of the ticks of the device clock to nanoseconds}
   *
   * @throws IllegalStateException if the device has no clock, or its frequency is unknown
   */
  public DeviceClock clock() {
    DeviceAttributes attributes = deviceAttributes();
    long kilohertz = attributes.coreClockKilohertz();
    long mask = attributes.completionTimestampMask();
    if (kilohertz == 0 || mask == 0) {
      throw new IllegalStateException(
          "%s has no clock of a known frequency: hca_core_clock %s kHz, completion_timestamp_mask 0x%s"
              .formatted(device, kilohertz, Long.toHexString(mask)));
    }
    return new DeviceClock(kilohertz, mask);
  }

  /**
   * {@return a port of the device}
   *
   * @param number the port number, 1 for the first port
   * @throws IllegalArgumentException if there is no such port
   */
  public Port port(int number) {
    int count = deviceAttributes().portCount();
    if (number < 1 || number > count) {
      throw new IllegalArgumentException(
          device + " has port " + (count == 1 ? "1" : "1 to " + count) + ": no port " + number);
    }
    return new Port(this, number);
  }

  /**
   * Returns all ports of the device.
   *
   * @return the ports, in the order of their numbers
   */
  public List<Port> ports() {
    return IntStream.rangeClosed(1, deviceAttributes().portCount())
        .mapToObj(number -> new Port(this, number))
        .toList();
  }

  /**
   * Returns the GID tables of all ports: {@code ibv_query_gid_table} ({@code
   * _ibv_query_gid_table}), or {@code ibv_query_gid} for each entry with libraries before rdma-core
   * 32.
   *
   * @return the entries that are not empty, in the order of ports and indices
   */
  public List<GidEntry> gidTable() {
    int max = ports().stream().mapToInt(port -> port.attributes().gidTableLength()).sum();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entries = ibv_gid_entry.allocateArray(Math.max(max, 1), arena);
      long count =
          core.whileOpen(() -> verbs().ibv_query_gid_table(address(), entries.address(), max, 0));
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
   * Allocates a protection domain: {@code ibv_alloc_pd}.
   *
   * @return the domain, to be closed
   */
  public ProtectionDomain allocateProtectionDomain() {
    return Core.make(
        List.of(this),
        () -> verbs().ibv_alloc_pd(address()),
        verbs()::ibv_dealloc_pd,
        core -> new ProtectionDomain(this, core));
  }

  /**
   * Creates a completion queue without a completion channel: {@code ibv_create_cq}.
   *
   * @param entries the minimum number of completions that the queue can hold; the actual
   *     {@linkplain CompletionQueue#capacity capacity} may be larger
   * @return the completion queue, to be closed
   */
  public CompletionQueue createCompletionQueue(int entries) {
    return completionQueue(entries).create();
  }

  /**
   * {@return a builder of a completion queue}
   *
   * @param entries the minimum number of completions that the queue can hold
   */
  public CompletionQueue.Builder completionQueue(int entries) {
    core.requireOpen();
    return new CompletionQueue.Builder(this, entries);
  }

  /**
   * {@return the counters of the device and of its ports, as they are now, and those of the
   * connections of {@code dev.verbena.messages} over it; none of ports where {@code /sys} is not
   * mounted} {@link dev.verbena.util.StatisticsExport} exports them. See {@code rdma-statistic(8)}.
   */
  public Statistics statistics() {
    return core.whileOpen(
        () -> {
          Map<String, Long> messages = MessageCounters.values(provider, device.name());
          return device.sysfsPath().isEmpty()
              ? new Statistics(provider.counters(address()), List.of(), messages)
              : new SystemFiles(device.sysfsPath()).statistics(messages);
        });
  }

  /**
   * Creates a completion event channel: {@code ibv_create_comp_channel}.
   *
   * @return the channel, to be closed
   */
  public CompletionChannel createCompletionChannel() {
    return CompletionChannel.create(this);
  }

  /**
   * Imports a protection domain of another process: {@code ibv_import_pd}. This context must be
   * {@linkplain Device#importContext imported} from that process.
   *
   * @param handle the value of {@link ProtectionDomain#handle} in that process
   * @return the domain; closing it ({@code ibv_unimport_pd}) does not affect the domain of the
   *     other process
   */
  public ProtectionDomain importProtectionDomain(int handle) {
    return ProtectionDomain.imported(this, handle);
  }

  /**
   * Returns the file descriptor of the open device. This process, or another one to which it is
   * sent, can {@linkplain Device#importContext import} the context by it.
   *
   * @return the descriptor, owned by this context
   */
  public int commandDescriptor() {
    core.requireOpen();
    return ibv_context.cmd_fd(struct);
  }

  Provider provider() {
    return provider;
  }

  Verbs verbs() {
    return provider.verbs();
  }

  /** Returns whether the provider may be librxe of a release before the given one of rdma-core. */
  boolean mayHaveLibrxeBefore(int release) {
    return !linking.isCritical()
        && provider
            .release()
            .map(text -> Integer.parseInt(text.replaceFirst("\\D.*", "")) < release)
            .orElse(false);
  }

  Linking linking() {
    return linking;
  }

  /**
   * Returns whether data path functions may be called as critical calls, for all objects of this
   * context.
   */
  CriticalCalls criticalCalls() {
    return criticalCalls;
  }

  private void beforeClose() {
    events.stop();
    core.children(ProtectionDomain.class).forEach(ProtectionDomain::closeWindows);
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "context of " + device);
  }
}
