package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The types of C as Java has them: their members, their numbers, their texts. */
class TypesTest {
  @Test
  @DisplayName("S4-11: every operation has a text of its own, which no library exports")
  void operationsHaveTexts() {
    Set<String> texts = new HashSet<>();
    for (WorkRequestOpcode opcode : WorkRequestOpcode.values()) {
      assertFalse(opcode.text().isBlank());
      texts.add(opcode.text());
    }
    assertEquals(WorkRequestOpcode.values().length, texts.size());
    assertEquals("RDMA write with immediate", WorkRequestOpcode.RDMA_WRITE_WITH_IMMEDIATE.text());
    assertFalse(texts.contains("unknown"));
  }

  @Test
  void aFlowLabelBecomesAUdpPort() {
    Gid peer = Gid.parse("::ffff:10.0.0.1");
    assertEquals(0xc000, new GlobalRoute(peer, 0).udpSourcePort());
    assertEquals(0xd234, new GlobalRoute(peer, 0, 0x1234, 64, 0).udpSourcePort());
    assertEquals(0xc003, new GlobalRoute(peer, 0, 0x8001, 64, 0).udpSourcePort());
  }
}
