package dev.verbena.s3.server;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Locale;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/** The checksums of objects. */
enum ChecksumAlgorithm {
  CRC32,
  CRC32C,
  SHA1,
  SHA256,
  CRC64NVME;

  /** The polynomial 0xad93d23594c93659, reflected. */
  private static final long POLYNOMIAL = 0x9a6c_9329_ac4b_c9b5L;

  private static final long[] TABLE = new long[256];

  static {
    for (int i = 0; i < TABLE.length; i++) {
      long crc = i;
      for (int bit = 0; bit < Byte.SIZE; bit++) {
        crc = (crc & 1) == 0 ? crc >>> 1 : crc >>> 1 ^ POLYNOMIAL;
      }
      TABLE[i] = crc;
    }
  }

  /** {@return the name of the header} */
  String header() {
    return "x-amz-checksum-" + name().toLowerCase(Locale.ROOT);
  }

  byte[] of(byte[] data) {
    return switch (this) {
      case CRC32 -> crc(new CRC32(), data);
      case CRC32C -> crc(new CRC32C(), data);
      case SHA1 -> digest("SHA-1", data);
      case SHA256 -> digest("SHA-256", data);
      case CRC64NVME -> crc64(data);
    };
  }

  static String base64(byte[] value) {
    return Base64.getEncoder().encodeToString(value);
  }

  private static byte[] crc(Checksum checksum, byte[] data) {
    checksum.update(data);
    return ByteBuffer.allocate(Integer.BYTES).putInt((int) checksum.getValue()).array();
  }

  private static byte[] crc64(byte[] data) {
    long crc = -1;
    for (byte value : data) {
      crc = TABLE[(int) (crc ^ value) & 0xff] ^ crc >>> Byte.SIZE;
    }
    return ByteBuffer.allocate(Long.BYTES).putLong(~crc).array();
  }

  static byte[] digest(String algorithm, byte[] data) {
    try {
      return MessageDigest.getInstance(algorithm).digest(data);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
