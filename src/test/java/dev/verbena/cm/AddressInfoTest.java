package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.raw.rdma_addrinfo;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Copies of {@code struct rdma_addrinfo}. */
class AddressInfoTest {
  @Test
  void aPortSpaceThatIsMissingOrUnknownIsEmpty() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = rdma_addrinfo.allocate(arena);
      assertEquals(Optional.empty(), copy(info).portSpace());
      rdma_addrinfo.ai_port_space(info, 0x7777);
      assertEquals(Optional.empty(), copy(info).portSpace());
      rdma_addrinfo.ai_port_space(info, rdma_h.RDMA_PS_UDP());
      assertEquals(Optional.of(PortSpace.UDP), copy(info).portSpace());
    }
  }

  private static AddressInfo copy(MemorySegment info) {
    return AddressInfo.copyAll(info.address()).getFirst();
  }
}
