package dev.verbena.fuzz;

import dev.verbena.sockets.RdmaSocketOptions;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;

/** Arguments: random ones, those at an edge, and some that an earlier call returned. */
final class Values {
  private static final List<ProtocolFamily> FAMILIES = List.of(StandardProtocolFamily.values());
  private static final int[] INTS = {
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    4095,
    4096,
    65_535,
    65_536,
    1 << 20,
    1 << 24,
    Integer.MAX_VALUE,
    Integer.MIN_VALUE
  };
  private static final long[] LONGS = {
    0,
    1,
    -1,
    7,
    8,
    64,
    4095,
    4096,
    65_536,
    1L << 20,
    1L << 31,
    1L << 32,
    1L << 40,
    Long.MAX_VALUE,
    Long.MIN_VALUE
  };
  private static final Path[] PATHS = {
    Path.of(""), Path.of("/"), Path.of("/proc/self/exe"), Path.of("no", "such", "file")
  };

  private static final Duration[] DURATIONS = {
    Duration.ZERO,
    Duration.ofNanos(1),
    Duration.ofMillis(1),
    Duration.ofMillis(20),
    Duration.ofMillis(-1),
    Duration.ofSeconds(Long.MAX_VALUE),
    Duration.ofSeconds(Long.MIN_VALUE),
    Duration.ofDays(400)
  };
  private static final double[] DOUBLES = {
    0, 0, 0, 0.01, 0.1, 0.5, 1, -1, Double.NaN, Double.POSITIVE_INFINITY, Double.MIN_VALUE
  };
  private static final List<SocketOption<?>> OPTIONS =
      List.of(
          RdmaSocketOptions.RDMA_INLINE,
          RdmaSocketOptions.RDMA_IOMAPSIZE,
          RdmaSocketOptions.RDMA_RQSIZE,
          RdmaSocketOptions.RDMA_SQSIZE,
          StandardSocketOptions.SO_RCVBUF,
          StandardSocketOptions.SO_SNDBUF,
          StandardSocketOptions.SO_REUSEADDR,
          StandardSocketOptions.SO_KEEPALIVE,
          StandardSocketOptions.SO_LINGER,
          StandardSocketOptions.TCP_NODELAY,
          StandardSocketOptions.IP_TOS);
  private static final String[] STRINGS = {
    "",
    "memory0",
    "rxa",
    "soft0",
    "soft1",
    "2",
    "soft0=192.0.2.1,soft1=192.0.2.2",
    "udp:127.0.0.1",
    "ibv_create_qp",
    "ibv_reg_mr",
    "127.0.0.1",
    "::1",
    "fe80::1",
    "no such name.invalid",
    "7471",
    "-1",
    "x",
    "%s%n",
    "\0",
    "ü"
  };

  /** Where an argument that only the fuzzer can make comes from. */
  interface Source {
    /** An object of the API, or a functional interface; null if there is none. */
    Object object(Class<?> type);
  }

  private final Random random;
  private final ArgumentMemory memory;
  private final List<InetAddress> addresses;
  private final Source source;
  private final Harvest harvest;

  Values(
      Random random,
      ArgumentMemory memory,
      List<InetAddress> addresses,
      Harvest harvest,
      Source source) {
    this.random = random;
    this.memory = memory;
    this.addresses = addresses;
    this.harvest = harvest;
    this.source = source;
  }

  /** A value for a parameter. */
  Object of(Type generic) {
    Class<?> type = raw(generic);
    if (type.isPrimitive()) {
      return primitive(type);
    }
    if (random.nextInt(100) < 2) {
      return null;
    }
    if (type == String.class) {
      return STRINGS[random.nextInt(STRINGS.length)];
    } else if (type == byte[].class) {
      return bytes();
    } else if (type == Path.class) {
      return PATHS[random.nextInt(PATHS.length)];
    } else if (type == Duration.class) {
      return DURATIONS[random.nextInt(DURATIONS.length)];
    } else if (InetAddress.class.isAssignableFrom(type)) {
      return address(type);
    } else if (type == InetSocketAddress.class || type == SocketAddress.class) {
      return socketAddress();
    } else if (type == MemorySegment.class) {
      return memory.segment(random);
    } else if (type == Arena.class) {
      return memory.arena(random);
    } else if (type.isEnum()) {
      Object[] constants = type.getEnumConstants();
      return constants[random.nextInt(constants.length)];
    } else if (type.isArray()) {
      return array(generic, type);
    } else if (type == Set.class) {
      return new LinkedHashSet<>(some(argument(generic)));
    } else if (type == List.class) {
      return some(argument(generic));
    } else if (type == Map.class) {
      return Map.of();
    } else if (type == Optional.class) {
      return random.nextBoolean() ? Optional.empty() : Optional.ofNullable(of(argument(generic)));
    } else if (type == OptionalInt.class) {
      return random.nextBoolean() ? OptionalInt.empty() : OptionalInt.of(integer());
    } else if (type == OptionalLong.class) {
      return random.nextBoolean() ? OptionalLong.empty() : OptionalLong.of(number());
    } else if (type == Object.class) {
      Object[] any = {this, integer(), random.nextBoolean()};
      return any[random.nextInt(any.length)];
    } else if (type == ByteBuffer.class) {
      return buffer();
    } else if (type == SocketOption.class) {
      return OPTIONS.get(random.nextInt(OPTIONS.size()));
    } else if (type == ProtocolFamily.class) {
      return FAMILIES.get(random.nextInt(FAMILIES.size()));
    } else if (type == InputStream.class) {
      return Captures.random(random);
    }
    return source.object(type);
  }

  private static Class<?> raw(Type type) {
    return switch (type) {
      case Class<?> c -> c;
      case ParameterizedType p -> (Class<?>) p.getRawType();
      case GenericArrayType a -> raw(a.getGenericComponentType()).arrayType();
      case WildcardType w -> raw(w.getUpperBounds()[0]);
      default -> Object.class;
    };
  }

  private static Type argument(Type generic) {
    return generic instanceof ParameterizedType p ? p.getActualTypeArguments()[0] : Object.class;
  }

  private Object primitive(Class<?> type) {
    if (type == int.class) {
      return integer();
    } else if (type == long.class) {
      return number();
    } else if (type == boolean.class) {
      return random.nextBoolean();
    } else if (type == short.class) {
      return (short) integer();
    } else if (type == byte.class) {
      return (byte) integer();
    } else if (type == double.class) {
      return DOUBLES[random.nextInt(DOUBLES.length)];
    }
    throw new AssertionError("no values of type " + type);
  }

  /** Mostly a small number. */
  int integer() {
    int kind = random.nextInt(100);
    if (kind < 55) {
      return random.nextInt(5);
    } else if (kind < 70) {
      return 1 << random.nextInt(10);
    } else if (kind < 82) {
      return harvest.integer(random);
    } else if (kind < 97) {
      return INTS[random.nextInt(INTS.length)];
    }
    return random.nextInt();
  }

  private long number() {
    int kind = random.nextInt(100);
    if (kind < 45) {
      return random.nextInt(5) * 8L;
    } else if (kind < 60) {
      return 1L << random.nextInt(16);
    } else if (kind < 80) {
      return harvest.number(random) + (random.nextInt(4) == 0 ? random.nextInt(64) : 0);
    } else if (kind < 97) {
      return LONGS[random.nextInt(LONGS.length)];
    }
    return random.nextLong();
  }

  private byte[] bytes() {
    int[] lengths = {0, 1, 4, 6, 8, 16, 20, 28, 32, 56, 57, 100, 196, 255, 256, 4096};
    byte[] bytes = new byte[lengths[random.nextInt(lengths.length)]];
    random.nextBytes(bytes);
    return bytes;
  }

  private ByteBuffer buffer() {
    ByteBuffer[] buffers = {
      ByteBuffer.allocate(256),
      ByteBuffer.allocateDirect(256),
      ByteBuffer.allocate(0),
      ByteBuffer.allocate(64).position(8).slice(),
      memory.page(random).asByteBuffer(),
      memory.page(random).asByteBuffer().asReadOnlyBuffer()
    };
    return buffers[random.nextInt(buffers.length)];
  }

  private InetAddress address(Class<?> type) {
    List<InetAddress> choice = new ArrayList<>(addresses);
    choice.addAll(addresses);
    try {
      for (String text :
          List.of("0.0.0.0", "::", "127.0.0.1", "::1", "224.0.0.9", "ff02::9", "10.9.0.77")) {
        choice.add(InetAddress.getByName(text));
      }
      choice.add(Inet6Address.getByAddress(null, new byte[16], 1));
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
    List<InetAddress> fitting = choice.stream().filter(type::isInstance).toList();
    return fitting.get(random.nextInt(fitting.size()));
  }

  private InetSocketAddress socketAddress() {
    int kind = random.nextInt(20);
    if (kind == 0) {
      return InetSocketAddress.createUnresolved("no.such.name.invalid", 1);
    }
    int[] ports = {0, 0, 7471, 7472, 7473, 7474, 1, 65_535};
    return new InetSocketAddress(
        address(kind < 3 ? InetAddress.class : Inet4Address.class),
        ports[random.nextInt(ports.length)]);
  }

  private Object array(Type generic, Class<?> type) {
    Type component =
        generic instanceof GenericArrayType a
            ? a.getGenericComponentType()
            : type.getComponentType();
    List<Object> elements = some(component);
    Object array = Array.newInstance(type.getComponentType(), elements.size());
    for (int i = 0; i < elements.size(); i++) {
      if (elements.get(i) != null || !type.getComponentType().isPrimitive()) {
        Array.set(array, i, elements.get(i));
      }
    }
    return array;
  }

  private List<Object> some(Type element) {
    Class<?> type = raw(element);
    if (type.isEnum() && random.nextInt(4) == 0) {
      return new ArrayList<>(Arrays.asList(type.getEnumConstants()));
    }
    List<Object> elements = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      elements.add(of(element));
    }
    return elements;
  }
}
