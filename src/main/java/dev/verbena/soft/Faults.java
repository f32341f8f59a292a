package dev.verbena.soft;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.time.Time;
import dev.verbena.soft.device.Delays;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.engine.Timer;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.PacketText;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;

/**
 * The injected faults of a network: packets that are lost, duplicated, reordered, delayed or
 * corrupted, devices that cannot reach each other, hosts that stop or are killed, full queues,
 * verbs that fail. A new network has none.
 *
 * <p>A generator of random numbers with a {@linkplain #seed(long) seed} determines which packets
 * are affected, in the order in which they are sent. Any thread may call any method at any time; a
 * change affects packets that are sent afterwards.
 */
public final class Faults {
  private static final long REORDER_NANOS = 50_000;
  private static final double STRICT_REORDERING = 0.02;
  private static final long MAX_VARIED_DELAY = 20_000;
  private static final Duration MAX_DELAY = Duration.ofDays(1);

  /** A fault that passes. */
  private record Disturbance(String description, BooleanSupplier begin, Runnable end) {}

  private final SoftNetwork network;
  private final Set<Set<SoftDevice>> partitions = new HashSet<>();
  private final FailingCalls failingCalls = new FailingCalls();
  private final Delays delays = new Delays();
  private Random random;
  private long seed;
  private double loss;
  private double duplication;
  private double reordering;
  private double corruption;
  private long delayNanos;

  /** How often {@link #none} was called, which takes back what {@link #disturb} has planned. */
  private int ends;

  Faults(SoftNetwork network) {
    this.network = network;
    seed = Time.random(ThreadLocalRandom.current()).nextLong();
    random = new Random(seed);
  }

  /**
   * Restarts the generator of random numbers, so that the same packets in the same order have the
   * same faults.
   *
   * @param newSeed any number
   * @return this
   */
  public Faults seed(long newSeed) {
    return change(
        () -> {
          seed = newSeed;
          random = new Random(newSeed);
        });
  }

  /**
   * The seed of the generator of random numbers, to repeat a run.
   *
   * @return the seed that was set, or one that was chosen when the network was created
   */
  public long seed() {
    return network.engine.locked(() -> seed);
  }

  /**
   * Loses packets.
   *
   * @param probability from 0, no packet, to 1, every packet
   * @return this
   */
  public Faults loss(double probability) {
    return change(() -> loss = checked("loss", probability));
  }

  /**
   * Delivers packets twice.
   *
   * @param probability from 0 to 1
   * @return this
   */
  public Faults duplicate(double probability) {
    return change(() -> duplication = checked("duplicate", probability));
  }

  /**
   * Delivers packets after others that were sent later.
   *
   * @param probability from 0 to 1
   * @return this
   */
  public Faults reorder(double probability) {
    return change(() -> reordering = checked("reorder", probability));
  }

  /**
   * Changes a bit of packets, which receivers detect by the ICRC: they drop and count them.
   *
   * @param probability from 0 to 1
   * @return this
   */
  public Faults corrupt(double probability) {
    return change(() -> corruption = checked("corrupt", probability));
  }

  /**
   * Delays all packets.
   *
   * @param delay from sending to arrival, at most a day; zero for none
   * @return this
   * @throws IllegalArgumentException if the delay is negative or longer than a day
   */
  public Faults delay(Duration delay) {
    if (delay.isNegative() || delay.compareTo(MAX_DELAY) > 0) {
      throw new IllegalArgumentException("delay is zero to " + MAX_DELAY + ", not " + delay);
    }
    return change(() -> delayNanos = delay.toNanos());
  }

  /**
   * Loses all packets between two devices until {@link #heal}.
   *
   * @param a the name of a device
   * @param b the name of another, or of the same one
   * @return this
   */
  public Faults partition(String a, String b) {
    return change(
        () ->
            partitions.add(new HashSet<>(List.of(network.deviceNamed(a), network.deviceNamed(b)))));
  }

  /**
   * Ends all partitions.
   *
   * @return this
   */
  public Faults heal() {
    return change(partitions::clear);
  }

  /**
   * Kills the host of a device, as a power failure does: its peers get no message, nothing leaves
   * or arrives, and its addresses do not answer. The code of the test that runs on the device goes
   * on; it finds the device removed, see {@link SoftNetwork#removeDevice}, and closes its objects
   * as always. {@link SoftNetwork#addDevice} with the same name and addresses starts the host
   * again.
   *
   * @param device the name of the device
   * @return this
   */
  public Faults kill(String device) {
    network.kill(device);
    return this;
  }

  /**
   * Stops the host of a device until {@link #resume}, as a virtual machine that is paused: packets
   * for it are lost, its queue pairs send nothing, and their timeouts do not pass. The code of the
   * test that runs on the device goes on: what it posts is sent when the host is resumed.
   *
   * @param device the name of the device
   * @return this
   */
  public Faults stop(String device) {
    return change(() -> network.deviceNamed(device).stop());
  }

  /**
   * Lets the host of a device go on after {@link #stop}.
   *
   * @param device the name of the device
   * @return this
   */
  public Faults resume(String device) {
    return change(() -> resume(network.deviceNamed(device)));
  }

  private static void resume(SoftDevice device) {
    device.resume();
    Registry.of(device).forEach(SoftObject::resume);
  }

  /**
   * Takes a port down: nothing arrives or leaves there, and all contexts of the device get {@code
   * IBV_EVENT_PORT_ERR}.
   *
   * @param device the name of the device
   * @param port its number, from 1
   * @return this
   */
  public Faults portDown(String device, int port) {
    network.portState(device, port, false);
    return this;
  }

  /**
   * Takes a port up again: all contexts of the device get {@code IBV_EVENT_PORT_ACTIVE}.
   *
   * @param device the name of the device
   * @param port its number, from 1
   * @return this
   */
  public Faults portUp(String device, int port) {
    network.portState(device, port, true);
    return this;
  }

  /**
   * Removes a device as {@link SoftNetwork#removeDevice} does, and answers EIO to the verbs that
   * destroy its objects, too: as the kernel does after the reset of a device, or when its driver is
   * unbound, without the environment variable {@code RDMAV_ALLOW_DISASSOC_DESTROY}.
   *
   * @param device the name of the device
   * @return this
   * @throws IllegalArgumentException if the network has no such device
   */
  public Faults loseDevice(String device) {
    network.remove(device, SoftDevice::lose);
    return this;
  }

  /**
   * Makes all queues of a device full until {@link #freeQueues}: {@code ibv_post_send}, {@code
   * ibv_post_recv} and the other functions that post report ENOMEM.
   *
   * @param device the name of the device
   * @return this
   */
  public Faults fillQueues(String device) {
    return change(() -> network.deviceNamed(device).queuesFull = true);
  }

  /**
   * Ends {@link #fillQueues} for all devices: their queues hold as many requests as they were
   * created for.
   *
   * @return this
   */
  public Faults freeQueues() {
    return change(() -> network.fabric.devices().forEach(device -> device.queuesFull = false));
  }

  /**
   * Makes one call of a function of libibverbs or librdmacm fail, such as the third {@code
   * ibv_reg_mr} from now.
   *
   * @param function the name of a C function that the software device implements; posting, polling,
   *     {@code ibv_req_notify_cq} and functions that never fail, such as {@code
   *     ibv_ack_async_event}, cannot be made to fail
   * @param call which call: 1 for the next
   * @param errno the reason it reports, such as {@link dev.verbena.Errno#ENOMEM}
   * @return this
   * @throws IllegalArgumentException if the function is none of these, or {@code call} is not
   *     positive
   */
  public Faults fail(String function, int call, int errno) {
    Objects.requireNonNull(function);
    Set<String> functions = network.provider.functions();
    if (!functions.contains(function)) {
      throw new IllegalArgumentException(
          "the software device has no function "
              + function
              + " that can be made to fail; similar names: "
              + String.join(", ", CloseNames.to(function, functions)));
    }
    if (call < 1) {
      throw new IllegalArgumentException("calls are counted from 1: " + call);
    }
    failingCalls.add(function, call, errno);
    return this;
  }

  /**
   * Lets the devices do late, and in another order, what the specification leaves open, so that
   * programs which rely on luck fail. The {@link #seed} determines what is late:
   *
   * <ul>
   *   <li>2 % of the packets arrive after others that were sent up to 50 us later.
   *   <li>A queue pair begins with a quarter of the requests up to 0.1 ms after they were posted:
   *       the data that it sends are those of that time.
   *   <li>A quarter of the completions arrive up to 0.3 ms late. Completions of other queues pass
   *       them; those that wait arrive together, with one completion event.
   *   <li>The data of an RDMA write are in memory up to 0.5 ms after the write was acknowledged, in
   *       pieces in any order, but before a later receive completes, before a later READ or atomic
   *       operation of the same queue pair is executed, and before their key becomes invalid. Two
   *       writes keep their order where they overlap, and without {@code RELAXED_ORDERING}
   *       elsewhere, too.
   *   <li>A receive buffer holds bytes of 0xa5 in place of the message until its completion is in
   *       the queue, and the destination of a READ until the data have arrived.
   * </ul>
   *
   * @return this
   */
  public Faults strict() {
    return change(
        () -> {
          random = new Random(seed);
          reordering = STRICT_REORDERING;
          delays.begin(seed);
        });
  }

  /**
   * Chooses faults at random: packets that are lost, duplicated, reordered, corrupted or delayed,
   * and in half of the cases what {@link #strict} does. About a quarter of the choices affects no
   * packets but for a delay.
   *
   * @param choice decides what is chosen, and the {@link #seed}
   * @return this
   */
  public Faults vary(RandomGenerator choice) {
    return change(
        () -> {
          seed = choice.nextLong();
          random = new Random(seed);
          double[] probabilities = new double[4];
          if (choice.nextInt(4) > 0) {
            Arrays.setAll(probabilities, i -> choice.nextBoolean() ? choice.nextDouble(0.1) : 0);
          }
          loss = probabilities[0];
          duplication = probabilities[1];
          reordering = probabilities[2];
          corruption = probabilities[3];
          delayNanos = choice.nextBoolean() ? choice.nextLong(MAX_VARIED_DELAY) : 0;
          if (choice.nextBoolean()) {
            delays.begin(seed);
          }
        });
  }

  /**
   * Disturbs the network for a while: two devices cannot reach each other, a host stops, or a port
   * is down. It begins and ends by itself. {@link #none} ends it early, except that a port comes up
   * at its time. Nothing happens if the state exists already, such as a port that is down.
   *
   * @param choice decides what happens, when, and for how long
   * @param limit the time from now at which it ends at the latest
   * @return this
   */
  public Faults disturb(RandomGenerator choice, Duration limit) {
    long nanos = Ranges.positive(TimeUnit.NANOSECONDS.convert(limit), "limit in nanoseconds");
    int kind = choice.nextInt(3);
    int one = choice.nextInt(Integer.MAX_VALUE);
    int other = choice.nextInt(Integer.MAX_VALUE);
    long begin = choice.nextLong(nanos);
    long length = 1 + choice.nextLong(nanos - begin);
    return change(
        () -> {
          int endsBefore = ends;
          after(
              begin,
              () -> {
                List<SoftDevice> devices = new ArrayList<>(network.fabric.devices());
                if (ends == endsBefore && !devices.isEmpty()) {
                  SoftDevice device = devices.remove(one % devices.size());
                  SoftDevice peer =
                      devices.isEmpty() ? device : devices.get(other % devices.size());
                  disturb(device, disturbance(kind, device, peer), length);
                }
              });
        });
  }

  /** Returns a fault whose begin says whether it changes something, and whose end takes it back. */
  private Disturbance disturbance(int kind, SoftDevice device, SoftDevice peer) {
    String name = device.name;
    int endsBefore = ends;
    return switch (kind) {
      case 0 -> {
        Set<SoftDevice> pair = new HashSet<>(List.of(device, peer));
        yield new Disturbance(
            name + " and " + peer.name + " cannot reach each other",
            () -> partitions.add(pair),
            () -> {
              if (ends == endsBefore) {
                partitions.remove(pair);
              }
            });
      }
      case 1 ->
          new Disturbance(
              name + " is stopped",
              () -> {
                boolean runs = !device.isStopped();
                device.stop();
                return runs;
              },
              () -> {
                if (ends == endsBefore) {
                  resume(device);
                }
              });
      default -> {
        SoftPort port = device.ports.getFirst();
        yield new Disturbance(
            "port 1 of " + name + " is down",
            () -> port.change(false),
            () -> {
              boolean _ = port.change(true);
            });
      }
    };
  }

  private void disturb(SoftDevice device, Disturbance fault, long length) {
    if (Time.injects(() -> fault.description + " for " + Duration.ofNanos(length))
        && fault.begin.getAsBoolean()) {
      after(
          length,
          () -> {
            if (!device.isRemoved()) {
              fault.end.run();
            }
          });
    }
  }

  private void after(long nanos, Runnable action) {
    new Timer(network.engine.timers(), action).start(network.engine.now() + nanos);
  }

  /**
   * Ends all faults, except that a port that is down stays down and a killed host stays killed.
   *
   * @return this
   */
  public Faults none() {
    failingCalls.clear();
    network.engine.locked(
        () -> {
          loss = 0;
          duplication = 0;
          reordering = 0;
          corruption = 0;
          delayNanos = 0;
          ends++;
          delays.end();
          partitions.clear();
          network.fabric.devices().stream().filter(SoftDevice::isStopped).forEach(Faults::resume);
        });
    return freeQueues();
  }

  private Faults change(Runnable change) {
    network.engine.locked(change);
    return this;
  }

  private static double checked(String name, double probability) {
    if (!(probability >= 0 && probability <= 1)) {
      throw new IllegalArgumentException(
          name + " is a probability from 0 to 1, not " + probability);
    }
    return probability;
  }

  Delays delays() {
    return delays;
  }

  FailingCalls failingCalls() {
    return failingCalls;
  }

  boolean separates(SoftDevice a, SoftDevice b) {
    return !partitions.isEmpty() && partitions.contains(a == b ? Set.of(a) : Set.of(a, b));
  }

  /**
   * Whether packets may be on their way when their request is no longer outstanding: then they need
   * a copy of the data.
   */
  boolean holdPackets() {
    return delayNanos > 0 || reordering > 0 || duplication > 0 || delays.isOn();
  }

  boolean loses(Packet packet) {
    return isChosen(loss, "lost", packet);
  }

  boolean duplicates(Packet packet) {
    return isChosen(duplication, "duplicated", packet);
  }

  boolean corrupts(Packet packet) {
    return isChosen(corruption, "corrupted", packet);
  }

  private boolean isChosen(double probability, String fault, Packet packet) {
    return probability > 0
        && random.nextDouble() < probability
        && Time.injects(() -> fault + ' ' + PacketText.of(packet));
  }

  /** The time from the sending of a packet to its arrival. */
  long delay(Packet packet) {
    if (reordering == 0 || random.nextDouble() >= reordering) {
      return delayNanos;
    }
    long more = 1 + (long) (random.nextDouble() * REORDER_NANOS);
    boolean isLate =
        Time.injects(() -> "%s late: %s".formatted(Duration.ofNanos(more), PacketText.of(packet)));
    return isLate ? delayNanos + more : delayNanos;
  }

  @Override
  public String toString() {
    return "faults of seed %d: loss %s, duplication %s, reordering %s, corruption %s, delay %s ms"
        .formatted(seed, loss, duplication, reordering, corruption, delayNanos / 1e6);
  }
}
