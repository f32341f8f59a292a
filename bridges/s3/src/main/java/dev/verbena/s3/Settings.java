package dev.verbena.s3;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * What the system properties {@code dev.verbena.s3.*} say, and the environment variable {@code
 * VERBENA_S3_ENDPOINTS}.
 *
 * @param endpoints the hosts with ports whose objects go by RDMA; none switches the bridge off
 * @param devices names of RDMA devices, each with a GID index after a colon if it is not to be
 *     chosen; an empty name for the device of the route to the endpoint
 * @param minBytes the size from which objects go by RDMA
 * @param maxBytes the size up to which they do
 * @param poolBytes the bytes of registered memory for an endpoint
 * @param dcKey the access key of the DC targets, which the server has, too
 * @param trafficClass the traffic class of the targets
 * @param requireReply whether a PUT without {@code x-amz-rdma-reply} has failed
 * @param encrypted whether objects go by RDMA, which is not encrypted, though requests go by HTTPS
 *     or have a key of the customer
 * @param connected whether tokens name a connection (RC) instead of a DC target, for tests
 * @param interceptors whether those of the program leave bodies as they are
 * @param timeout how long a server may take until its access to the memory is withdrawn
 */
record Settings(
    List<String> endpoints,
    List<String> devices,
    long minBytes,
    long maxBytes,
    long poolBytes,
    long dcKey,
    int trafficClass,
    boolean requireReply,
    boolean encrypted,
    boolean connected,
    boolean interceptors,
    Duration timeout) {
  static final String PREFIX = "dev.verbena.s3.";

  /** One direct buffer holds the data, and servers have limits of their own. */
  private static final long LARGEST = 1L << 30;

  static final Settings OFF = of(_ -> null);

  /** Reads the properties of this JVM. */
  static Settings read() {
    String endpoints = System.getenv("VERBENA_S3_ENDPOINTS");
    return of(
        name -> System.getProperty(PREFIX + name, name.equals("endpoints") ? endpoints : null));
  }

  /**
   * Reads values.
   *
   * @param values returns the value of a name, null if it is not set
   * @throws IllegalArgumentException if one is not valid
   */
  static Settings of(UnaryOperator<String> values) {
    Settings settings =
        new Settings(
            list(values.apply("endpoints")),
            parse(values, "device", "", Settings::devices),
            parse(values, "minBytes", "256k", Settings::bytes),
            parse(values, "maxBytes", "64m", Settings::bytes),
            parse(values, "poolBytes", "1g", Settings::bytes),
            parse(values, "dcKey", "0xffeeddcc", Long::decode),
            parse(values, "trafficClass", "0", Integer::decode),
            parse(values, "requireReply", "true", Settings::flag),
            parse(values, "https", "false", Settings::flag),
            parse(values, "connected", "false", Settings::flag),
            parse(values, "interceptors", "false", Settings::flag),
            parse(values, "timeout", "10s", Settings::duration));
    if (settings.minBytes < 1 || settings.maxBytes < settings.minBytes) {
      throw new IllegalArgumentException(
          PREFIX + "minBytes is 1 to maxBytes: " + settings.minBytes + ", " + settings.maxBytes);
    }
    if (settings.maxBytes > LARGEST || settings.poolBytes < Buffers.sizeOf(settings.maxBytes)) {
      throw new IllegalArgumentException(
          PREFIX
              + "maxBytes is at most 1g and poolBytes at least that, rounded up to a power of two: "
              + settings.maxBytes
              + ", "
              + settings.poolBytes);
    }
    if (settings.trafficClass < 0 || settings.trafficClass > 255) {
      throw new IllegalArgumentException(
          PREFIX + "trafficClass is 0 to 255: " + settings.trafficClass);
    }
    return settings;
  }

  private static List<String> list(String value) {
    return value == null
        ? List.of()
        : Arrays.stream(value.split(",")).map(String::strip).filter(s -> !s.isEmpty()).toList();
  }

  /** Returns one without a name if there is none. */
  private static List<String> devices(String value) {
    List<String> devices = list(value).stream().distinct().toList();
    if (!devices.stream().allMatch(d -> d.matches("[^:]+(:\\d{1,5})?"))) {
      throw new IllegalArgumentException("names of devices, or name:index");
    }
    return devices.isEmpty() ? List.of("") : devices;
  }

  private static boolean flag(String value) {
    return switch (value) {
      case "true", "" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("true or false");
    };
  }

  private static long bytes(String value) {
    int unit = "kmg".indexOf(Character.toLowerCase(value.charAt(value.length() - 1))) + 1;
    String number = unit == 0 ? value : value.substring(0, value.length() - 1);
    return Math.multiplyExact(Long.parseLong(number), 1L << (10 * unit));
  }

  private static Duration duration(String value) {
    Duration duration = Duration.parse("PT" + (value.endsWith("s") ? value : value + "s"));
    if (duration.toMillis() < 1 || duration.compareTo(Duration.ofDays(1)) > 0) {
      throw new IllegalArgumentException("not 1 ms to a day");
    }
    return duration;
  }

  private static <T> T parse(
      UnaryOperator<String> values, String name, String otherwise, Function<String, T> parser) {
    String value = values.apply(name);
    String given = value == null ? otherwise : value.strip();
    try {
      return parser.apply(given);
    } catch (IllegalArgumentException
        | ArithmeticException
        | DateTimeException
        | IndexOutOfBoundsException e) {
      throw new IllegalArgumentException(PREFIX + name + ": " + value, e);
    }
  }
}
