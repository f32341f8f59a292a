package dev.verbena.testing;

import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Optional;
import org.opentest4j.TestAbortedException;

/**
 * The devices that tests use: those that {@code VERBENA_DEVICE_A} and {@code VERBENA_DEVICE_B}
 * name, which the lab, the software devices and the emulated NIC set; otherwise the first device.
 */
public final class Rig {
  private Rig() {}

  /** The device that the active side uses. */
  public static Device a() {
    return device("VERBENA_DEVICE_A");
  }

  /** The device that the passive side uses; the same as {@link #a} where there is but one. */
  public static Device b() {
    return device("VERBENA_DEVICE_B");
  }

  /** Whether the devices are software devices of this JVM, which have no network interface. */
  public static boolean isSoftware() {
    return a().sysfsPath().isEmpty();
  }

  /** The IPv4 address of device a, for RDMA CM. */
  public static InetAddress addressA() {
    return address("VERBENA_ADDRESS_A");
  }

  /** The IPv4 address of device b, for RDMA CM. */
  public static InetAddress addressB() {
    return address("VERBENA_ADDRESS_B");
  }

  /** The IPv6 address of device a, for RDMA CM. */
  public static InetAddress address6A() {
    return address("VERBENA_ADDRESS6_A");
  }

  /** The IPv6 address of device b, for RDMA CM. */
  public static InetAddress address6B() {
    return address("VERBENA_ADDRESS6_B");
  }

  /** The network device below device a. */
  public static String netdevA() {
    String name = System.getenv("VERBENA_NETDEV_A");
    if (name == null) {
      throw new TestAbortedException("VERBENA_NETDEV_A names no network device");
    }
    return name;
  }

  /** What the devices are, for the report of a failure. */
  public static String environment() {
    Optional<String> guest = labGuest();
    if (System.getenv("VERBENA_NIC") != null) {
      return "the emulated NIC";
    }
    if (isSoftware()) {
      return "software devices" + guest.map(name -> " in the guest " + name).orElse("");
    }
    return guest.map(name -> "Soft-RoCE in the guest " + name).orElse("devices of this host");
  }

  /** The name of the guest, where the test runs in the lab. */
  public static Optional<String> labGuest() {
    return Optional.ofNullable(System.getenv("VERBENA_LAB_GUEST"));
  }

  /**
   * Calls a verb that a device or a library may lack, and skips the rest of the test if it is
   * unsupported. A skip fails the run of an environment unless its list of gaps names the test.
   *
   * @throws TestAbortedException if the verb is not supported
   */
  public static <T> T orSkip(Verb<T> verb) {
    try {
      return verb.call();
    } catch (VerbsException e) {
      if (e.isUnsupported()) {
        throw new TestAbortedException(e.getMessage(), e);
      }
      throw e;
    }
  }

  /** A call that makes or asks something. */
  public interface Verb<T> {
    /** Calls. */
    T call();
  }

  private static Device device(String variable) {
    String name = System.getenv(variable);
    return name == null ? Device.list().getFirst() : Device.named(name);
  }

  /** The address that a variable names. */
  public static InetAddress address(String variable) {
    String text = System.getenv(variable);
    if (text == null) {
      throw new TestAbortedException(variable + " names no address of an RDMA device");
    }
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(variable, e);
    }
  }
}
