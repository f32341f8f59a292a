package dev.verbena.s3;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/** The checksums of S3 that are computed over registered memory. */
enum DataChecksum {
  CRC32(data -> crc(data, CRC32::new)),
  CRC32C(data -> crc(data, CRC32C::new)),
  CRC64NVME(data -> bytes(Crc64Nvme.of(data), Long.BYTES)),
  SHA256(data -> digest(data, "SHA-256")),
  SHA1(data -> digest(data, "SHA-1"));

  private static final String PREFIX = "x-amz-checksum-";

  private final Function<ByteBuffer, byte[]> function;

  DataChecksum(Function<ByteBuffer, byte[]> function) {
    this.function = function;
  }

  /** Returns the one with the name that the SDK has for it. */
  static Optional<DataChecksum> named(String name) {
    return ofHeader(PREFIX + name);
  }

  /** Returns the one with a header. */
  static Optional<DataChecksum> ofHeader(String name) {
    return Arrays.stream(values()).filter(c -> c.header().equalsIgnoreCase(name)).findFirst();
  }

  /** Returns the name of the header that has it. */
  String header() {
    return PREFIX + name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether a header has the checksum of an object or a part, of any kind. */
  static boolean isHeader(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    return lower.startsWith(PREFIX)
        && !lower.endsWith("-mode")
        && !lower.endsWith("-type")
        && !lower.endsWith("-algorithm");
  }

  /** Returns the value of the header for data of less than 2 GiB. */
  String of(MemorySegment data) {
    return Base64.getEncoder().encodeToString(function.apply(data.asByteBuffer()));
  }

  private static byte[] crc(ByteBuffer data, Supplier<Checksum> checksum) {
    Checksum made = checksum.get();
    made.update(data);
    return bytes(made.getValue(), Integer.BYTES);
  }

  private static byte[] bytes(long value, int length) {
    byte[] all = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.BIG_ENDIAN).putLong(value).array();
    return Arrays.copyOfRange(all, Long.BYTES - length, Long.BYTES);
  }

  private static byte[] digest(ByteBuffer data, String algorithm) {
    try {
      MessageDigest digest = MessageDigest.getInstance(algorithm);
      digest.update(data);
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("each JDK has " + algorithm, e);
    }
  }

  /** CRC-64/NVME, eight bytes at a time. The SDK has it only with its native library. */
  private static final class Crc64Nvme {
    private static final long POLYNOMIAL = 0x9a6c9329ac4bc9b5L; // Reflected.
    private static final long[][] TABLES = new long[8][256];

    static {
      for (int i = 0; i < 256; i++) {
        long value = i;
        for (int bit = 0; bit < 8; bit++) {
          value = (value & 1) == 0 ? value >>> 1 : value >>> 1 ^ POLYNOMIAL;
        }
        TABLES[0][i] = value;
      }
      for (int table = 1; table < 8; table++) {
        for (int i = 0; i < 256; i++) {
          long value = TABLES[table - 1][i];
          TABLES[table][i] = value >>> 8 ^ TABLES[0][(int) value & 0xff];
        }
      }
    }

    private Crc64Nvme() {}

    static long of(ByteBuffer data) {
      data.order(ByteOrder.LITTLE_ENDIAN);
      long crc = ~0L;
      while (data.remaining() >= Long.BYTES) {
        long next = crc ^ data.getLong();
        crc = 0;
        for (int i = 0; i < 8; i++) {
          crc ^= TABLES[7 - i][(int) (next >>> 8 * i) & 0xff];
        }
      }
      while (data.hasRemaining()) {
        crc = crc >>> 8 ^ TABLES[0][(int) (crc ^ data.get()) & 0xff];
      }
      return ~crc;
    }
  }
}
