package dev.verbena.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.raw.sockaddr_storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Addresses go to C and come back; IPv6 is not cut. */
class SocketAddressesTest {
  @Test
  void ipv4AddressRoundTrips() throws UnknownHostException {
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getByAddress(new byte[] {10, 9, 0, (byte) 200}), 0xabcd);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment sockaddr = SocketAddresses.write(address, arena);
      assertArrayEquals(
          new byte[] {2, 0, (byte) 0xab, (byte) 0xcd, 10, 9, 0, (byte) 200, 0, 0, 0, 0, 0, 0, 0, 0},
          sockaddr.toArray(ValueLayout.JAVA_BYTE));
      assertEquals(Optional.of(address), SocketAddresses.read(padded(sockaddr, arena)));
    }
  }

  @Test
  void ipv6AddressRoundTripsWithItsScope() throws UnknownHostException {
    byte[] ip = new byte[16];
    ip[0] = (byte) 0xfe;
    ip[1] = (byte) 0x80;
    ip[15] = 7;
    InetSocketAddress address =
        new InetSocketAddress(Inet6Address.getByAddress(null, ip, 3), 65535);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment sockaddr = SocketAddresses.write(address, arena);
      assertEquals(28, sockaddr.byteSize());
      assertEquals(3, sockaddr.get(ValueLayout.JAVA_INT, 24));
      InetSocketAddress back = SocketAddresses.read(padded(sockaddr, arena)).orElseThrow();
      assertEquals(address, back);
      assertEquals(3, ((Inet6Address) back.getAddress()).getScopeId());
    }
  }

  @Test
  void otherFamiliesAreRejected() {
    try (Arena arena = Arena.ofConfined()) {
      assertEquals(MemorySegment.NULL, SocketAddresses.write(null, arena));
      MemorySegment other = arena.allocate(sockaddr_storage.sizeof());
      assertEquals(Optional.empty(), SocketAddresses.read(other));
      other.set(ValueLayout.JAVA_SHORT, 0, (short) SocketAddresses.AF_IB);
      assertEquals(Optional.empty(), SocketAddresses.read(other));
      InetSocketAddress unresolved = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
      assertThrows(IllegalArgumentException.class, () -> SocketAddresses.write(unresolved, arena));
    }
  }

  private static MemorySegment padded(MemorySegment sockaddr, Arena arena) {
    MemorySegment storage = arena.allocate(sockaddr_storage.sizeof(), Long.BYTES);
    storage.copyFrom(sockaddr);
    return storage;
  }
}
