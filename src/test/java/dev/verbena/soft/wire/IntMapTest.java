package dev.verbena.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.FullHeap;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** The map of keys and queue pair numbers, compared with one of the JDK. */
class IntMapTest {
  private static final int[] KEYS = new Random(5).ints(300).toArray();

  private final IntMap<Integer> map = new IntMap<>();
  private final Map<Integer, Integer> expected = new HashMap<>();

  private void compare() {
    assertEquals(expected.size(), map.size());
    for (int key : KEYS) {
      assertEquals(expected.get(key), map.get(key));
    }
  }

  @Test
  void keysAreFoundAfterOthersWereRemoved() {
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      int key = KEYS[random.nextInt(KEYS.length)];
      if (random.nextInt(i % 4_000 < 2_000 ? 3 : 2) == 0) {
        map.remove(key);
        expected.remove(key);
      } else {
        map.put(key, i);
        expected.put(key, i);
      }
      if (i % 50 == 0) {
        compare();
      }
    }
  }

  @Test
  void nothingIsLostWhenTheHeapIsFull() {
    String output =
        new ForkedJvm()
            .with("-Xmx16m", "-XX:+UseSerialGC")
            .withJarOf(Test.class)
            .withJarOf(AssertionFailedError.class)
            .run(Filling.class)
            .succeeded();
    assertEquals("65536 entries, refused and found", output.strip());
  }

  /** Puts an entry for which the map must grow, with ever more memory until it succeeds. */
  static final class Filling {
    private static final int SIZE = 1 << 16;

    private Filling() {}

    public static void main(String[] args) {
      IntMap<Object> map = new IntMap<>();
      for (int i = 0; i < SIZE; i++) {
        map.put(i, map);
      }
      Object[] ballast = new Object[64];
      for (int i = 0; i < ballast.length; i++) {
        ballast[i] = new byte[1 << 17];
      }
      FullHeap.fill();
      boolean refused = false;
      for (int i = 0; !put(map); i++) {
        refused = true;
        for (int key = 0; key < SIZE; key++) {
          if (map.get(key) == null) {
            throw new AssertionError(key);
          }
        }
        ballast[i] = null;
      }
      FullHeap.free();
      System.out.println(map.size() - 1 + " entries, " + (refused ? "refused and found" : "taken"));
    }

    private static boolean put(IntMap<Object> map) {
      try {
        map.put(SIZE, map);
        return true;
      } catch (OutOfMemoryError e) {
        return false;
      }
    }
  }

  @Test
  void removingAKeyThatIsNotThereDoesNothing() {
    map.put(1, 1);
    map.remove(2);
    assertEquals(1, map.get(1));
    assertNull(map.get(2));
  }
}
