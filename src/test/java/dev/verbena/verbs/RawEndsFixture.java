package dev.verbena.verbs;

import dev.verbena.testing.RawEnd;
import dev.verbena.testing.Rig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A raw packet queue pair on each of the two devices of the rig, if they support raw packets. */
abstract class RawEndsFixture {
  RawEnd a;
  RawEnd b;

  @BeforeEach
  void open() {
    a = Rig.orSkip(() -> new RawEnd(Rig.a()));
    b = Rig.orSkip(() -> new RawEnd(Rig.b()));
  }

  @AfterEach
  void close() {
    if (a != null) {
      a.close();
    }
    if (b != null) {
      b.close();
    }
  }
}
