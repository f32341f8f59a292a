package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.lang.foreign.MemorySegment;

/** Parent domains and thread domains on a device that has none (S3-F28). */
class ParentDomainTest {
  @DeviceTest
  void softRoceRefusesThemWithReason() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      Refusal.of(context::allocateThreadDomain, "no thread domains");
      Refusal.of(() -> pd.parentDomain().create(), "no parent domains");
      Refusal.of(
          () ->
              pd.parentDomain().allocator(new UnusedAllocator()).allowUnprotectedMemory().create(),
          "no parent domains");
      pd.close();
      assertThrows(IllegalStateException.class, pd::parentDomain);
    }
  }

  private static final class UnusedAllocator implements ProviderAllocator {
    @Override
    public MemorySegment allocate(long size, long alignment, long resource) {
      throw new AssertionError("there is no parent domain");
    }

    @Override
    public void free(MemorySegment memory, long resource) {
      throw new AssertionError("there is no parent domain");
    }
  }
}
