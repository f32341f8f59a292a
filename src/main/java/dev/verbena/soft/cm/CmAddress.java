package dev.verbena.soft.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.SocketAddresses;
import dev.verbena.soft.device.CallFailure;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** IP addresses: as {@code sockaddr}, and as GIDs. */
public final class CmAddress {
  private CmAddress() {}

  /**
   * Reads a {@code sockaddr}.
   *
   * @throws VerbsException EINVAL if there is none, or it is of another family
   */
  public static InetSocketAddress read(long address) {
    CallFailure.invalidIf(address == 0, "no address");
    return switch (Short.toUnsignedInt(Memory.getShort(address))) {
      case SocketAddresses.AF_INET, SocketAddresses.AF_INET6 ->
          SocketAddresses.read(Memory.at(address, length(address))).orElseThrow();
      default -> throw CallFailure.invalid("the address is not of IPv4 or IPv6");
    };
  }

  private static long length(long address) {
    return Memory.getShort(address) == SocketAddresses.AF_INET ? 16 : 28;
  }

  /** Writes a {@code sockaddr} to a {@code sockaddr_storage}. */
  public static void write(InetSocketAddress socketAddress, long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = SocketAddresses.write(socketAddress, arena);
      Memory.at(address, bytes.byteSize()).copyFrom(bytes);
    }
  }

  /** The wildcard address of as many bytes. */
  public static InetAddress wildcard(int length) {
    return ofBytes(new byte[length]);
  }

  private static InetAddress ofBytes(byte[] bytes) {
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
