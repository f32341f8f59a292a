package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.ibm.disni.verbs.IbvWC;
import java.lang.reflect.Constructor;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each replaced class has what programs can use of DiSNI's class. */
class SignaturesTest {
  static Stream<String> replaced() {
    return ReplacedClasses.names().stream().sorted();
  }

  @ParameterizedTest
  @MethodSource("replaced")
  void replacedClassHasTheSignaturesOfDisnis(String name) throws Exception {
    try (URLClassLoader disni = new URLClassLoader(disniAlone(), slf4j())) {
      Class<?> original = Class.forName(name, false, disni);
      assertFalse(isReplacement(original), "not DiSNI's");
      Class<?> replacement = Class.forName(name, false, getClass().getClassLoader());
      assertEquals(signatures(original), signatures(replacement));
    }
  }

  /** DiSNI's classes log by slf4j, which their loader finds here; their own it finds in the jar. */
  private static ClassLoader slf4j() {
    return new ClassLoader(ClassLoader.getPlatformClassLoader()) {
      @Override
      protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (name.startsWith("org.slf4j.")) {
          return SignaturesTest.class.getClassLoader().loadClass(name);
        }
        throw new ClassNotFoundException(name);
      }
    };
  }

  private static URL[] disniAlone() {
    return new URL[] {IbvWC.class.getProtectionDomain().getCodeSource().getLocation()};
  }

  /** The annotation is of another class loader, or absent. */
  private static boolean isReplacement(Class<?> type) {
    return Arrays.stream(type.getAnnotations())
        .anyMatch(a -> a.annotationType().getName().equals(Replacement.class.getName()));
  }

  private static Set<String> signatures(Class<?> type) {
    List<String> all = new ArrayList<>();
    all.add(Modifier.toString(type.getModifiers()) + " " + type.getGenericSuperclass());
    for (Constructor<?> constructor : type.getDeclaredConstructors()) {
      add(all, constructor, constructor.toGenericString());
    }
    for (Method method : type.getDeclaredMethods()) {
      add(all, method, method.toGenericString());
    }
    Arrays.stream(type.getDeclaredFields()).forEach(f -> add(all, f, f.toGenericString()));
    return new TreeSet<>(all);
  }

  private static void add(List<String> all, Member member, String signature) {
    if ((member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0) {
      all.add(signature);
    }
  }
}
