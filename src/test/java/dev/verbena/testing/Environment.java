package dev.verbena.testing;

import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.BY_HAND;
import static dev.verbena.testing.Need.CHECKED_COPIES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.C_QUEUES;
import static dev.verbena.testing.Need.DESCRIPTORS;
import static dev.verbena.testing.Need.JVMS;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.LINUX;
import static dev.verbena.testing.Need.ONE_HOST;
import static dev.verbena.testing.Need.ONE_KIND;
import static dev.verbena.testing.Need.PEERS;
import static dev.verbena.testing.Need.TWO_HOSTS;
import static dev.verbena.testing.Need.WIRE;

import dev.verbena.internal.foreign.Libc;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/** Where device tests run: on which kind of devices, and which needs of tests it does not meet. */
public enum Environment {
  /** Two software devices. */
  SOFT(DeviceKind.SOFTWARE, PEERS, KERNEL),

  /** Two software devices on another operating system than Linux, or as on one; by hand. */
  ELSEWHERE(DeviceKind.SOFTWARE, PEERS, KERNEL, JVMS, DESCRIPTORS, CHECKED_COPIES, LINUX),

  /** Two software devices over UDP; by hand. */
  UDP(DeviceKind.SOFTWARE, PEERS, KERNEL, JVMS, ADDRESSES, WIRE),

  /** The guests of the lab. */
  BOOKWORM(DeviceKind.SOFT_ROCE, TWO_HOSTS),
  TRIXIE(DeviceKind.SOFT_ROCE, TWO_HOSTS),
  FORKY(DeviceKind.SOFT_ROCE, ONE_HOST),
  FORKY_ARM64(DeviceKind.SOFT_ROCE, ONE_HOST),

  /** In a guest, a software device over UDP as device a and Soft-RoCE as device b; by hand. */
  UDP_TO_ROCE(DeviceKind.SOFTWARE, ADDRESSES, WIRE, ONE_KIND),
  ROCE_TO_UDP(DeviceKind.SOFT_ROCE, WIRE, ONE_KIND),

  /** The emulated NIC, in one process. */
  NIC(DeviceKind.MLX5, CM, PEERS, KERNEL),

  /** The same with other options of the JVM. */
  NIC_AGAIN(DeviceKind.MLX5, CM, PEERS, KERNEL, JVMS),

  /** The same with the direct data path. */
  NIC_DIRECT(DeviceKind.MLX5, CM, PEERS, KERNEL, JVMS, C_QUEUES),

  /** The emulated NIC with libmlx5 of Debian testing; runs a selection of tests. */
  NIC_TESTING(DeviceKind.MLX5, CM, PEERS, KERNEL, JVMS),

  /** The emulated EFA. */
  EFA(DeviceKind.EFA, CM, PEERS, KERNEL),

  /** Devices that this machine has: all device tests run; some may not suit them. */
  HOST(null);

  /** Those with a kernel of their own. */
  public static final Set<Environment> GUESTS =
      Collections.unmodifiableSet(EnumSet.range(BOOKWORM, FORKY_ARM64));

  /** Names the environment where it does not follow from the devices. */
  public static final String PROPERTY = "verbena.environment";

  /** The environments among which {@link Once} divides the tests, separated by commas. */
  static final String DIVIDED = "verbena.lab.guests";

  private static final Set<DeviceKind> USUAL =
      Set.of(DeviceKind.SOFTWARE, DeviceKind.SOFT_ROCE, DeviceKind.MLX5);

  private final DeviceKind kind;
  private final Set<Need> lacks;

  Environment(DeviceKind kind, Need... lacks) {
    this.kind = kind;
    this.lacks = Set.of(lacks);
  }

  /** That of this JVM, which has a device. */
  public static Environment current() {
    String name = System.getProperty(PROPERTY);
    if (name != null) {
      return named(name);
    }
    String nic = System.getenv("VERBENA_NIC_TYPE");
    if (nic != null) {
      return nic.equals("efa") ? EFA : NIC;
    }
    if (Rig.isSoftware()) {
      String devices = System.getenv("VERBENA_SOFT");
      if (!Libc.isPresent()) {
        return ELSEWHERE;
      }
      return devices != null && devices.startsWith("udp:") ? UDP : SOFT;
    }
    return Rig.labGuest().map(Environment::named).orElse(HOST);
  }

  static Environment named(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  /** The name, as that of a guest. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Whether this environment lacks what some tests need. */
  public boolean lacks(Need need) {
    return lacks.contains(need);
  }

  /** The tests of a class, of devices and others. */
  public static List<Method> tests(Class<?> type) {
    return ReflectionSupport.findMethods(
        type,
        method -> AnnotationSupport.isAnnotated(method, Testable.class),
        HierarchyTraversalMode.TOP_DOWN);
  }

  /** Whether a test is one of {@link DeviceTest} or {@link DeviceTests}. */
  public static boolean isDeviceTest(Class<?> type, Method test) {
    return Stream.of(type, test)
        .flatMap(
            element -> AnnotationSupport.findRepeatableAnnotations(element, Tag.class).stream())
        .anyMatch(tag -> tag.value().equals("device"));
  }

  /** The environment that runs a test {@link Once} for all guests, if one does. */
  public static Optional<Environment> once(Class<?> type, Method test) {
    return Stream.of(test, type)
        .map(element -> element.getAnnotation(Once.class))
        .filter(Objects::nonNull)
        .map(Once::value)
        .findFirst();
  }

  /** Why all device tests of a class are left to other environments; empty if one runs here. */
  public Optional<String> leaves(Class<?> type) {
    List<Optional<String>> reasons =
        tests(type).stream()
            .filter(test -> isDeviceTest(type, test))
            .map(test -> leaves(type, test))
            .toList();
    return reasons.isEmpty() || reasons.contains(Optional.<String>empty())
        ? Optional.empty()
        : reasons.getFirst();
  }

  /** Why a test is left to other environments; empty if it runs here. */
  public Optional<String> leaves(Class<?> type, Method test) {
    if (!isDeviceTest(type, test) || kind == null) {
      return Optional.empty();
    }
    return lacking(type)
        .or(() -> lacking(test))
        .or(() -> isFor(type, test) ? Optional.empty() : Optional.of("not for devices of EFA"))
        .or(() -> once(type, test).flatMap(this::leftTo));
  }

  private Optional<String> lacking(AnnotatedElement element) {
    On on = element.getAnnotation(On.class);
    if (on != null && !List.of(on.value()).contains(kind)) {
      String reason = on.reason().isEmpty() ? "" : ": " + on.reason();
      return Optional.of("only on " + List.of(on.value()) + reason);
    }
    Needs needs = element.getAnnotation(Needs.class);
    return Stream.of(needs == null ? new Need[0] : needs.value())
        .filter(need -> lacks.contains(need) || (need == BY_HAND && !isByHand()))
        .map(need -> "needs " + need)
        .findFirst();
  }

  private boolean isFor(Class<?> type, Method test) {
    return USUAL.contains(kind)
        || type.isAnnotationPresent(On.class)
        || test.isAnnotationPresent(On.class);
  }

  private static boolean isByHand() {
    return Boolean.getBoolean("verbena.by.hand");
  }

  /** The environment that runs a test of all that divide them; the first, if it is none of them. */
  private Optional<String> leftTo(Environment once) {
    String divided = System.getProperty(DIVIDED);
    if (divided == null) {
      return Optional.empty();
    }
    List<String> names = List.of(divided.split(","));
    String chosen = once.toString();
    String runs = names.contains(chosen) ? chosen : names.getFirst();
    return runs.equals(toString()) ? Optional.empty() : Optional.of(runs + " runs it");
  }
}
