package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Linker;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Results are what C's type has of a 64-bit register. */
@Tag("host")
class BindingTest {
  /** One C function with several types, which its caller may choose. */
  private static final class Result {
    private Result() {}

    interface OfLong {
      @Symbol(fails = ErrorConvention.NEVER)
      long labs(long number);
    }

    interface OfInt {
      @Symbol(fails = ErrorConvention.NEVER)
      int labs(long number);
    }

    interface OfShort {
      @Symbol(fails = ErrorConvention.NEVER)
      short labs(long number);
    }

    interface OfBoolean {
      @Symbol(fails = ErrorConvention.NEVER)
      boolean labs(long number);
    }
  }

  private static final long NUMBER = 0x1_2345_6789_abcdL;

  private static <T> T bind(Class<T> functions) {
    return Binding.toLibrary(functions, Library.of("libc", Linker.nativeLinker().defaultLookup()));
  }

  @Test
  void resultsAreCutToTheirType() {
    assertEquals(NUMBER, bind(Result.OfLong.class).labs(NUMBER));
    assertEquals(0x6789_abcd, bind(Result.OfInt.class).labs(NUMBER));
    assertEquals((short) 0xabcd, bind(Result.OfShort.class).labs(NUMBER));
  }

  @Test
  void truthIsInTheLowestByte() {
    Result.OfBoolean function = bind(Result.OfBoolean.class);
    assertTrue(function.labs(1));
    assertFalse(function.labs(256));
  }
}
