package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.util.ArrayList;
import java.util.List;

/** Protection domains, as rdma-core's test_pd.py tests them. */
class PdTest {
  @DeviceTest
  void allocatesAndFrees() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      assertTrue(pd.isOpen());
      pd.close();
      assertFalse(pd.isOpen());
    }
  }

  @DeviceTest
  void closesTwice() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      pd.close();
      pd.close();
      var thrown = assertThrows(IllegalStateException.class, pd::segment);
      assertTrue(thrown.getMessage().contains("protection domain"), thrown.getMessage());
    }
  }

  @DeviceTest
  void manyAtOnceCloseWithTheirContext() {
    List<ProtectionDomain> domains = new ArrayList<>();
    try (Context context = Rig.a().open()) {
      for (int i = 0; i < 16; i++) {
        domains.add(context.allocateProtectionDomain());
      }
    }
    assertTrue(domains.stream().noneMatch(ProtectionDomain::isOpen));
  }
}
